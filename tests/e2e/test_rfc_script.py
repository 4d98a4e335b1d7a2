"""The RFC's own script (§17), adapted to a store: a file that runs by itself."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.builders import git, make_store
from tests.trainer.case_store import ROOT
from trainer.environments.order_desk import suites

pytestmark = pytest.mark.slow
SEED = 1
SETTINGS = f'\n[environment]\nname = "order-desk"\n\n[environment.options]\nseed = {SEED}\n'


def test_the_script_of_the_rfc_trains_a_store(tmp_path):
    make_store(tmp_path / "s")
    config = tmp_path / "s" / "xp.toml"
    config.write_text(config.read_text(encoding="utf-8") + SETTINGS, encoding="utf-8")
    (tmp_path / "s" / "cases").mkdir()
    for suite, cases in suites(SEED).items():
        kept = {"train": 20, "gate": 0, "test": 6}[suite]
        lines = [case.model_dump_json() + "\n" for case in cases[:kept]]
        (tmp_path / "s" / "cases" / f"{suite}.jsonl").write_text("".join(lines), encoding="utf-8")
    git(tmp_path / "s", "add", ".")
    git(tmp_path / "s", "commit", "-q", "-m", "Write cases")
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "rfc_script.py"), str(tmp_path / "s")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    line, *commits = done.stdout.splitlines()
    before, n, after, _, count = map(int, re.findall(r"\d+", line))
    assert n == 24
    assert after > before
    assert count == len(commits) > 0
    assert git(tmp_path / "s", "log", "--reverse", "--format=%H", "main..train/rfc-17").split() == commits
