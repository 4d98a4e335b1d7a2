from __future__ import annotations

import doctest
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import xpstore
from tests.builders import make_store
from tests.lessons import received, rollout_of, teach
from xpstore import store
from xpstore.errors import NotAStoreError
from xpstore.store import ExperienceStore

if TYPE_CHECKING:
    from pathlib import Path


def test_the_example_runs():
    result = doctest.testmod(store)
    assert result.attempted > 8
    assert result.failed == 0


def test_the_face_reads_and_changes_one_store(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    lesson = teach(loc, "a", None, ("One.",), branch="train/1")
    opened = ExperienceStore.open(tmp_path / "s")
    assert (opened.id, opened.main) == (loc.config.id, "main")
    assert opened.show(lesson.plan.plan_id).lessons
    assert "+- One." in opened.diff("main", "train/1")
    line = opened.blame("a", "train/1").lines[-1]
    assert (line.text, line.origin.lessons[0].rollouts[0].id) == ("- One.", lesson.rollout)
    assert opened.snapshot("train/1", parsed=True).by_name["a"].document.statements()
    with opened.page_index("train/1") as page_index:
        assert [experience.name for experience, _ in page_index.search("one", 5)] == ["a"]
    rollout = opened.rollout(lesson.rollout)
    assert rollout is not None
    assert rollout["case"] == {"name": "case"}
    assert opened.trajectory(lesson.trajectory.id) == lesson.trajectory
    assert {e["event"] for e in opened.ledger(lesson.rollout)} == {"received", "analysed", "planned"}
    assert opened.land("train/1", dry_run=True).candidate.plan_ids == (lesson.plan.plan_id,)
    assert opened.evaluations("train/1") == []
    opened.deprecate(["a"], "train/1")
    opened.archive(["a"], "train/1")
    assert opened.promote(["a"], "train/1", dry_run=True).commit == ""
    assert opened.snapshot("train/1", versions=True).by_name["a"].version == 3
    _, _, files = received(rollout_of("another"))
    assert opened.record(files, "More")
    assert opened.record(files, "More") is None
    assert opened.forget(lesson.rollout).lessons
    assert opened.rollout(lesson.rollout) is None
    assert opened.trajectory(lesson.trajectory.id) is None
    assert {f.state for f in opened.verify("train/1")} == {"intact"}
    with pytest.raises(NotAStoreError):
        ExperienceStore.open(tmp_path)


def test_public_names_resolve_and_cost_nothing_before():
    assert [getattr(xpstore, name) for name in dir(xpstore)]
    assert xpstore.__version__
    with pytest.raises(AttributeError, match="nothing"):
        _ = xpstore.nothing
    script = "import xpstore, sys; print([m for m in ('pydantic', 'pygit2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
