"""A store as a folder of somebody's code repository, and a second one beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import make_user
from tests.returns_desk import records

if TYPE_CHECKING:
    from tests.e2e.conftest import User

pytestmark = pytest.mark.slow
CASES = 14  # each half of them teaches something


@pytest.fixture(scope="module")
def halves(user: User) -> tuple[str, str, str]:
    """Recordings of the first and of the second half of the cases, and all of them."""
    rows = [json.dumps(r) + "\n" for r in records(CASES)]
    names = ("first.jsonl", "second.jsonl", "all.jsonl")
    parts = (rows[: len(rows) // 2], rows[len(rows) // 2 :], rows)
    for name, part in zip(names, parts, strict=True):
        (user.where / name).write_text("".join(part), encoding="utf-8")
    first, second, everything = (str(user.where / name) for name in names)
    return first, second, everything


@pytest.fixture(scope="module")
def code(user: User) -> User:
    """A code repository with a dirty working tree."""
    user.git("init", "-q", "-b", "trunk", "code")
    code = user.at("code")
    (code.where / "app.py").write_text("print('hello')\n", encoding="utf-8")
    (code.where / "README").write_text("An app.\n", encoding="utf-8")
    code.git("add", "-A")
    code.git("commit", "-q", "-m", "Start the app")
    (code.where / "app.py").write_text("print('dirty')\n", encoding="utf-8")
    (code.where / "staged.py").write_text("x = 1\n", encoding="utf-8")
    code.git("add", "staged.py")
    return code


def outside(user: User, ref: str, prefix: str) -> str:
    """What a ref has outside of the store."""
    rows = user.git("ls-tree", "-r", ref).splitlines()
    return "\n".join(row for row in rows if f"\t{prefix}/" not in row)


def pages(user: User, ref: str, prefix: str = "") -> dict[str, str]:
    folder = f"{prefix}/experiences/" if prefix else "experiences/"
    names = user.git("ls-tree", "--name-only", ref, folder).splitlines()
    return {Path(name).name: user.git("show", f"{ref}:{name}") for name in names}


def test_the_life_of_a_store_in_a_code_repository(code, halves, tmp_path_factory):
    first, second, everything = halves
    code.xp("init", "agent")
    assert code.git("status", "--porcelain") == " M app.py\nA  staged.py"
    assert code.git("diff", "--name-only", "HEAD~", "HEAD") == "agent/xp.toml"

    # the first training, landed by plain git, with local changes left alone
    before = outside(code, "trunk", "agent")
    code.at("agent").xp("train", first, "--branch", "train/x")
    assert outside(code, "train/x", "agent") == before
    code.git("merge", "-q", "--ff-only", "train/x")
    assert code.git("status", "--porcelain") == " M app.py\nA  staged.py"
    assert code.xp("-C", "agent", "verify", "trunk")

    # code goes on; the store's folder moves; a person edits a page and adds one
    code.git("commit", "-q", "-am", "Go on with the app")
    code.git("mv", "agent", "brain")
    code.git("commit", "-q", "-m", "Call the agent's folder brain")
    by_hand = code.where / "brain/experiences/greeting.md"
    by_hand.parent.mkdir(exist_ok=True)
    by_hand.write_text("# Greeting\n\n- Say hello first.\n", encoding="utf-8")
    page = code.where / "brain/experiences/refund-order.md"
    learned = page.read_text(encoding="utf-8") if page.exists() else ""
    if learned:
        page.write_text(learned + "\n## Notes\n\n- A person knows more.\n", encoding="utf-8")
    code.git("add", "-A")
    code.git("commit", "-q", "-m", "Write by hand")

    before = outside(code, "trunk", "brain")
    report = code.at("brain").json("train", second, "--branch", "train/y")
    assert report["plans"]
    assert outside(code, "train/y", "brain") == before
    changed = code.git("diff", "--name-only", "trunk...train/y").splitlines()
    assert changed
    assert all(name.startswith("brain/experiences/") for name in changed)
    after = pages(code, "train/y", "brain")
    assert after["greeting.md"] == "# Greeting\n\n- Say hello first."
    assert not learned or "- A person knows more." in after["refund-order.md"]
    assert code.xp("-C", "brain", "verify", "train/y")

    # two halves end where one batch ends, people's lines aside
    control = make_user(tmp_path_factory.mktemp("control"))
    control.xp("init", "s")
    control.at("s").xp("train", everything, "--branch", "train/z")
    expected = pages(control.at("s"), "train/z")
    mine = {n: t.replace("\n\n## Notes\n\n- A person knows more.", "") for n, t in after.items()}
    mine.pop("greeting.md")
    assert mine == expected

    # undo in the folder, from inside and outside of it
    plan = report["plans"][-1]["plan_id"]
    code.git("checkout", "-q", "train/y")
    code.xp("-C", "brain", "revert", plan)
    assert outside(code, "train/y", "brain") == before
    assert code.xp("-C", "brain", "verify", "train/y")
    code.git("checkout", "-q", "trunk")
    code.git("fsck", "--strict")


def test_a_second_store_has_refs_of_its_own(code, halves):
    first, _, _ = halves
    code.xp("init", "support")
    evidence = code.git("rev-parse", "xp/evidence")
    report = code.at("support").json("train", first)
    assert report["branch"].startswith("train/support/")
    assert code.git("rev-parse", "xp/evidence") == evidence
    assert code.git("rev-parse", "--verify", "xp/support/evidence")
    changed = code.git("diff", "--name-only", f"trunk...{report['branch']}").splitlines()
    assert all(name.startswith("support/experiences/") for name in changed)
    assert code.xp("-C", "support", "verify", report["branch"])
    assert "support" in code.xp("status", code=2)  # two stores here: which one?
