from __future__ import annotations

from dataclasses import astuple

import pytest

from tests.builders import make_plan, make_store, upsert
from xpstore import evidence_read
from xpstore.commit import commit
from xpstore.errors import FormatError
from xpstore.evidence import EvidenceFile
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.note import to_text
from xpstore.plan import RolloutRef
from xpstore.record import plan_from
from xpstore.review import Note, Seen, asked, lessons
from xpstore.trajectory import Trajectory
from xpstore.verify import verify

BEFORE = "---\nname: a\n---\n\n## Approach\n\n- Look first.\n- Old way.\n"
AFTER = "---\nname: a\n---\n\n## Approach\n\n- Look first.\n- New way.\n  Two lines of it.\n"
FAILED, PASSED = "f" * 20, "a" * 20


def gradient(**fields) -> PatchSemanticGradient:
    values = {
        "before_file": MemoryFile(name="a", content=BEFORE),
        "after_file": MemoryFile(name="a", content=AFTER),
        "rationale": "It failed twice.\n\ndiff --git a/x b/x\n---\nstill prose",
        "confidence": 0.8,
        "rollouts": (PASSED, FAILED),
        **fields,
    }
    return PatchSemanticGradient(**values)


@pytest.fixture
def loc(tmp_path):
    return make_store(tmp_path / "s")


def landed(loc, *gradients: PatchSemanticGradient, extra=()) -> str:
    plan = make_plan(
        loc,
        upsert("a", AFTER),
        gradients=gradients,
        rollouts=(
            RolloutRef(id=PASSED, passed=True, score=1.0, case="one"),
            RolloutRef(id=FAILED, passed=False, score=0.25, case="two"),
        ),
    )
    commit(loc, [plan], "train/x", extra_evidence=extra)
    return plan.plan_id


def test_a_lesson_has_its_statements_reason_and_rollouts(loc):
    (lesson,) = lessons(loc, landed(loc, gradient()))
    assert (lesson.experience, lesson.confidence) == ("a", 0.8)
    assert lesson.rationale == gradient().rationale
    assert lesson.added == ("- New way.\n  Two lines of it.",)
    assert lesson.removed == ("- Old way.",)
    assert lesson.rollouts == (Seen(FAILED, False, 0.25, "two"), Seen(PASSED, True, 1.0, "one"))


def test_notes_are_read_and_missing_ones_are_named(loc):
    note = Trajectory(
        name="n", content="Body", outcome="failure", retrieval_anchor="cancel: late", rollout=FAILED
    )
    uris = (note.uri, "trajectories/00/gone.md")
    file = EvidenceFile(note.uri, to_text(note).encode())
    (lesson,) = lessons(loc, landed(loc, gradient(evidence_trajectory_uris=uris), extra=[file]))
    assert lesson.notes == (Note(note.uri, FAILED, "failure", "cancel: late"), Note(uris[1]))


def test_new_and_deleted_files(loc):
    made = gradient(before_file=None, rationale="")
    gone = gradient(after_file=None)
    found = {bool(lesson.added): lesson for lesson in lessons(loc, landed(loc, made, gone))}
    assert found[True].added == ("- Look first.", "- New way.\n  Two lines of it.")
    assert found[True].rationale == ""
    assert found[False].removed == ("- Look first.", "- Old way.")


def test_a_plan_without_gradients_or_evidence_has_no_lessons(loc):
    plan = make_plan(loc, upsert("b", AFTER))
    commit(loc, [plan], "train/x")
    assert lessons(loc, plan.plan_id) == []
    assert lessons(loc, "0" * 20) == []


def test_an_altered_patch_is_an_error(loc, monkeypatch):
    plan_id = landed(loc, gradient())
    monkeypatch.setattr(evidence_read, "patches", lambda *_: {"x": b"nonsense"})
    with pytest.raises(FormatError, match=plan_id):
        lessons(loc, plan_id)


MODEL = {
    "name": "small",
    "prompts": {"edit": 2},
    "total": {"calls": 9, "prompt_tokens": 1200, "completion_tokens": 80, "cost": 0.5},
}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"model": MODEL}, ("small", {"edit": 2}, 9, 1200, 80, 0.5)),
        ({"model": {"name": "small"}}, ("small", {}, 0, 0, 0, 0.0)),
        ({"model": "small"}, None),
        ({}, None),
    ],
)
def test_the_record_says_what_a_model_was_asked_and_is_no_part_of_the_plans_id(loc, metadata, expected):
    plan = make_plan(loc, upsert("a", AFTER), rollouts=(), metadata=metadata)
    assert plan.plan_id == make_plan(loc, upsert("a", AFTER), rollouts=()).plan_id
    (made,) = commit(loc, [plan], "train/x")
    found = asked(loc, plan.plan_id)
    assert (astuple(found)[1:] if found else None) == expected
    assert [f.state for f in verify(loc, "train/x") if f.plan_id == plan.plan_id] == ["intact"]
    assert plan_from(loc, made.commit) == plan
