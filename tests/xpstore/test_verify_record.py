from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, make_store, page, upsert
from tests.lessons import Lesson, teach
from xpstore import events, evidence, layout, verify_record
from xpstore.carried import Texts
from xpstore.commit import commit
from xpstore.evidence_check import Evidence

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


@pytest.fixture
def lesson(loc: Location) -> Lesson:
    return teach(loc, "a", None, ("One.",))


def stamp(lesson: Lesson, **changes: str) -> events.Stamp:
    fields = {"Plan-Digest": lesson.plan.digest, **{k.replace("_", "-"): v for k, v in changes.items()}}
    return events.Stamp(fields.pop("Plan-Id", lesson.plan.plan_id), {k: (v,) for k, v in fields.items() if v})


def test_a_sound_record_has_its_patches(loc: Location, lesson: Lesson):
    found = verify_record.find(Evidence.open(loc), stamp(lesson))
    assert (found.problems, found.notes, len(found.patches)) == ((), (), 1)
    assert found.record["plan_id"] == lesson.plan.plan_id


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"Plan_Digest": "aa"}, "the trailer Plan-Digest is aa"),
        ({"Plan_Digest": ""}, "the trailer Plan-Digest is missing"),
        ({"Plan_Id": "bb"}, "the trailer Plan-Id is bb"),
        ({"Plan_Id": "bb", "Plan_Digest": "aa"}, "gradients/bb/bb/aa.json is missing"),
    ],
)
def test_ids_that_do_not_lead_to_the_record_are_named(
    loc: Location, lesson: Lesson, changes: dict[str, str], named: str
):
    (problem,) = verify_record.find(Evidence.open(loc), stamp(lesson, **changes)).problems
    assert named in problem


def test_a_record_of_another_shape_is_altered(loc: Location, lesson: Lesson):
    path = layout.record_path("cc", "dd")
    for data in (b"[]", b"{}", b'{"items": 1}', b'{"items": [1], "gradients": []}'):
        shelf = Evidence.open(loc)
        shelf.files[path] = evidence_blob(loc, data)
        (problem,) = verify_record.find(shelf, stamp(lesson, Plan_Id="cc", Plan_Digest="dd")).problems
        assert problem.startswith(f"{path} was altered")


def evidence_blob(loc: Location, data: bytes) -> str:
    name = f"evaluations/{data.hex()[:30]}"
    evidence.write(loc, [evidence.EvidenceFile(name, data)], "x")
    return Evidence.open(loc).files[name]


def test_a_rollout_without_its_ledger_event_is_named(loc: Location):
    plan = make_plan(loc, upsert("a", page("a")))
    commit(loc, [plan], "main")
    fields = {"Plan-Digest": (plan.digest,)}
    shelf = Evidence.open(loc)
    found = verify_record.find(shelf, events.Stamp(plan.plan_id, fields))
    rollout = plan.rollouts[0].id
    assert found.problems == (f"{layout.rollout_path(rollout)} is missing in the evidence branch",)
    (event,) = shelf.below(layout.ledger_folder(rollout))
    del shelf.files[event]
    found = verify_record.find(shelf, events.Stamp(plan.plan_id, fields))
    assert "has no event that plan" in found.problems[1]


def test_a_plan_over_the_limits_is_named(loc: Location, lesson: Lesson):
    shelf = Evidence.open(loc)
    found = verify_record.find(shelf, stamp(lesson))
    texts = Texts(shelf)
    assert verify_record.limit_problems(found, loc.config, texts) == []
    blob = loc.repo.entry(loc.repo.commit(lesson.commit).tree, "experiences/a.md")
    assert blob
    texts.known[blob.id] = "x\n" * 2000
    (problem,) = verify_record.limit_problems(found, loc.config, texts)
    assert "the limit is 1000" in problem


def test_the_ledger_knows_every_commit_that_a_plan_was_made_on(loc: Location):
    """A commit that a retry was made on may be gone: only the record of the first try is kept."""
    plan = make_plan(loc, upsert("a", page("a")))
    commit(loc, [plan], "train/1")
    commit(loc, [make_plan(loc, upsert("b", page("b")))], "main")
    again = make_plan(loc, upsert("a", page("a")))
    assert (again.plan_id, again.base_commit == plan.base_commit) == (plan.plan_id, False)
    commit(loc, [again], "train/2")
    shelf = Evidence.open(loc)
    record = {"plan_id": plan.plan_id, "items": [], "rollouts": [{"id": r.id} for r in plan.rollouts]}
    entry = events.any_entry(loc, loc.repo.resolve("train/2"))
    tries = [str(plan.base_commit), str(again.base_commit), "1" * 40]
    known = [verify_record.is_another_try(shelf, entry, record, "Base-Commit", value) for value in tries]
    assert known == [True, True, False]
