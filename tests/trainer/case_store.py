"""A store with cases and an environment of the tests, which is installed for real."""

from __future__ import annotations

import re
from pathlib import Path

from tests.builders import git, make_store
from tests.trainer.doubles import rollout

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = '\n[environment]\nname = "scripted"\n\n[evaluation]\ntrials = 2\nseed = 5\n'


def make_case_store(root: Path, **suites: list[str]) -> Path:
    """Make a store whose xp.toml names the scripted environment, with suites of cases by name."""
    make_store(root)
    config = root / "xp.toml"
    text = re.sub(r"\n# [^\n]*\n\[evaluation\](\n[^\n\[]+)*", "", config.read_text(encoding="utf-8"))
    config.write_text(text + SETTINGS, encoding="utf-8")
    write_suites(root, **suites)
    return root


def write_suites(root: Path, **suites: list[str]) -> None:
    """Write and commit suites; each case is a name."""
    (root / "cases").mkdir(exist_ok=True)
    for suite, names in suites.items():
        lines = [rollout(name).case.model_dump_json() + "\n" for name in names]
        (root / "cases" / f"{suite}.jsonl").write_text("".join(lines), encoding="utf-8")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "Write cases")


def install_scripted(site: Path) -> Path:
    """Install the scripted environment into a folder for `sys.path`; return the folder."""
    info = site / "xp_scripted-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: xp-scripted\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[xpstore.environments]\nscripted = tests.trainer.doubles:make_environment\n"
    )
    return site
