"""A store whose candidates make the agent better, worse, and neither, on two dozen cases of the gate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.builders import git, make_plan, page, upsert
from tests.trainer.case_store import make_case_store
from xpstore.cli.main import run
from xpstore.commit import commit
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

CASES = [f"g{n}" for n in range(24)]
KNOWN, WORSE, BETTER = CASES[:12], CASES[:6], CASES[12:18]


def make_gate_store(root: Path) -> Path:
    """Make it: the agent does a case well where there is a page of its name."""
    make_case_store(root, train=["a"], gate=CASES, test=["t"])
    loc = Location.find(root)
    for some in (KNOWN[:5], KNOWN[5:]):
        commit(loc, [make_plan(loc, *(upsert(name, page(name)) for name in some))], "main")
    commit(loc, [make_plan(loc, *(upsert(name, page(name)) for name in BETTER))], "train/better")
    commit(loc, [make_plan(loc, upsert("other", page("other")))], "train/neither")
    git(root, "checkout", "-q", "-b", "train/worse")
    git(root, "rm", "-q", *(f"experiences/{name}.md" for name in WORSE))
    git(root, "commit", "-q", "-m", "Forget")
    git(root, "checkout", "-q", "main")
    return root


def settle(root: Path, **keys: object) -> None:
    """Write and commit `[gate]`."""
    config = root / "xp.toml"
    lines = "".join(f"{key} = {value!r}\n" for key, value in keys.items())
    text = config.read_text(encoding="utf-8").partition("[gate]")[0]
    config.write_text(f"{text}[gate]\n{lines}\n[environment]\nname = 'scripted'\n", encoding="utf-8")
    git(root, "commit", "-q", "-am", "Rules")


def xp(*args: str) -> int:
    """Run a command on the store `s` where the test works."""
    return run(["-C", "s", *args])


def answer(capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    """Return the JSON that a command has printed."""
    return json.loads(capsys.readouterr().out)
