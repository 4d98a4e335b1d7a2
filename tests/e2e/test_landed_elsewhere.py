"""Plans that reached main by a button of a hosting site are known to every verb."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.builders import git, identify
from tests.e2e.bad import PAGE, Xp, rollouts
from xpstore.cli.main import run


@pytest.fixture(scope="module")
def proposed(tmp_path_factory) -> Path:
    """A store whose candidate `train/run` has learned two pages, and whose main has moved since."""
    where = tmp_path_factory.mktemp("site") / "s"
    assert run(["init", str(where)]) == 0
    identify(where)
    assert (
        run(["-C", str(where), "train", str(rollouts(where.parent / "r.jsonl")), "--branch", "train/run"])
        == 0
    )
    (where / "README").write_text("Read me.\n")
    git(where, "add", ".")
    git(where, "commit", "-qm", "Write a README")
    return where


def squash(store: Path) -> None:
    git(store, "merge", "-q", "--squash", "train/run")
    git(store, "commit", "-q", "--no-edit")  # git's own message: all messages, indented


def squash_with_messages(store: Path) -> None:
    bodies = git(store, "log", "--reverse", "--format=* %B", "main..train/run")
    git(store, "merge", "-q", "--squash", "train/run")
    git(store, "commit", "-qm", f"Train (#3)\n\n{bodies}\n\n---------\n\nCo-authored-by: Ann <ann@x>")


def squash_with_a_title(store: Path) -> None:
    git(store, "merge", "-q", "--squash", "train/run")
    git(store, "commit", "-qm", "Train (#3)")


def merge(store: Path) -> None:
    git(store, "merge", "-q", "--no-ff", "-m", "Merge pull request #3 from x/train/run", "train/run")


def rebase(store: Path) -> None:
    git(store, "switch", "-q", "-c", "site", "train/run")
    git(store, "-c", "user.name=Site", "-c", "user.email=site@x", "rebase", "-q", "main")
    git(store, "switch", "-q", "main")
    git(store, "merge", "-q", "--ff-only", "site")
    git(store, "branch", "-qD", "site")


@pytest.mark.parametrize("button", [squash, squash_with_messages, squash_with_a_title, merge, rebase])
def test_plans_that_a_hosting_site_landed_are_known(proposed, tmp_path, capsys, button):
    xp = Xp(capsys)
    store = Path(shutil.copytree(proposed, tmp_path / "s"))
    plans = named(xp(store, "log", "train/run", "--json").out)
    assert len(plans) == 2
    button(store)
    git(store, "branch", "-qD", "train/run")
    assert named(xp(store, "log", "--json").out) == plans
    blamed = [line["plans"] for line in json.loads(xp(store, "blame", PAGE, "--json").out)["lines"]]
    (taught_by,) = {plan for line in blamed for plan in line}
    assert all(blamed)
    verified = xp(store, "verify", "--json")
    assert verified.code == 0, verified.out
    assert {f["plan_id"] for f in json.loads(verified.out)["findings"] if f["plan_id"]} == plans
    again = json.loads(xp(store, "train", str(proposed.parent / "r.jsonl"), "--json").out)
    assert (again["plans"], len(again["already"])) == ([], 24)
    assert xp(store, "revert", taught_by).code == 0
    assert not (store / "experiences" / f"{PAGE}.md").exists()


def named(log: str) -> set[str]:
    """Return the plans that a log names, those that a merge brought too."""
    commits = json.loads(log)["commits"]
    return {i for c in commits for i in (*(plan["plan_id"] for plan in c["plans"]), *c["merged_plans"])}
