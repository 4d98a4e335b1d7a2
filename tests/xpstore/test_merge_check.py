from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, make_store, page, upsert
from tests.scripted import Scripted, keeping
from xpstore import evidence_read, layout, merge_check, record
from xpstore.by_hand import TakeSide
from xpstore.carried import Texts
from xpstore.commit import commit
from xpstore.evidence_check import Evidence
from xpstore.landing import land
from xpstore.resolution import Asking
from xpstore.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location
    from xpstore.merge import MergePage

FIRST = page("a", "Be short.")
PLAIN = ("Look twice.", "Pack it well.")
OPPOSITE = ("Always ask.", "Never ask.")


def landed(folder: Path, lessons: tuple[str, str], merge_page: MergePage | None) -> Location:
    """Return a store where main, which had learned the first lesson, has merged the second."""
    loc = make_store(folder)
    commit(loc, [make_plan(loc, upsert("a", FIRST), rollouts=())], "main")
    plans = [
        make_plan(loc, upsert("a", page("a", "Be short.", one), before=FIRST), rollouts=()) for one in lessons
    ]
    commit(loc, [plans[1]], "train/x")
    commit(loc, [plans[0]], "main")
    land(loc, "train/x", merge_page=merge_page)
    return loc


def on_record(loc: Location) -> dict[str, object]:
    """Return the record of the merged plan."""
    plan = record.plan_from(loc, loc.repo.resolve("main"))
    return evidence_read.records(loc, plan.plan_id)[plan.digest]


def found(loc: Location, record_: dict[str, object]) -> tuple[list[str], list[str]]:
    return merge_check.problems(record_, Texts(Evidence.open(loc)))


MERGES = {
    "nothing overlapped": (PLAIN, lambda: None, "PROVEN", ""),
    "a model decided": (
        OPPOSITE,
        lambda: Asking(Scripted([keeping("- Never ask.")])),
        "VERIFIED",
        "scripted/1",
    ),
    "a person decided": (OPPOSITE, lambda: TakeSide("ours"), "VERIFIED", "person"),
}


@pytest.mark.parametrize("how", [key for key in MERGES if key != "a person decided"])
def test_a_merged_plan_is_read_back_under_its_id_and_its_record_says_how(tmp_path, how):
    """Plan <-> commit and record is the identity, also for a plan without gradients that was merged."""
    lessons, merge_page, verdict, by = MERGES[how]
    loc = landed(tmp_path / "s", lessons, merge_page())
    tip = loc.repo.resolve("main")
    plan = record.plan_from(loc, tip)
    assert f"Plan-Id: {plan.plan_id}\n" in loc.repo.commit(tip).message
    assert (f"Resolved-By: {by}\n" in loc.repo.commit(tip).message) is bool(by)
    assert [(m.name, m.verdict, m.resolved_by) for m in plan.merges] == [("a", verdict, by)]
    assert plan.resolved_by == by
    assert "- Never ask." not in [e.text for e in plan.merges[0].account if e.fate == "dropped"]
    assert found(loc, on_record(loc)) == ([], [])
    assert [f.problems for f in verify(loc, "main")] == [(), (), ()]
    again = record.record_of(plan)
    assert again == on_record(loc)


def test_what_a_person_decided_needs_no_rule(tmp_path):
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", FIRST), rollouts=())], "main")
    for branch, lesson in zip(("train/x", "main"), reversed(OPPOSITE), strict=True):
        base = make_plan(loc, upsert("a", FIRST), upsert("b", page("b")), branch="main").base_commit
        items = [upsert("a", page("a", "Be short.", lesson), before=FIRST)]
        items += [upsert("b", page("b"))] if branch != "main" else []
        commit(loc, [make_plan(loc, *items, base_commit=base, rollouts=())], branch)
    land(loc, "train/x", merge_page=TakeSide("ours"))
    plan = record.plan_from(loc, loc.repo.resolve("main"))
    assert [i.target_experience_name for i in plan.items] == ["b"]  # of page a nothing was left
    assert [(m.name, m.resolved_by) for m in plan.merges] == [("a", "person")]
    assert [(e.text, e.fate) for e in plan.merges[0].account if e.side == "theirs"] == [
        ("- Never ask.", "dropped")
    ]
    assert [f.problems for f in verify(loc, "main")] == [(), (), ()]


def changed(record_: dict[str, object], **fields: object) -> dict[str, object]:
    merges = record_["merges"]
    assert isinstance(merges, list)
    return {**record_, "merges": [{**merges[0], **fields}]}


def test_a_record_that_was_made_up_is_named(tmp_path):
    loc = landed(tmp_path / "s", *MERGES["a model decided"][:1], MERGES["a model decided"][1]())
    true = on_record(loc)
    proven, _ = found(loc, changed(true, verdict="PROVEN", resolved_by=""))
    assert any("the rules give another page" in problem for problem in proven)
    merges = true["merges"]
    assert isinstance(merges, list)
    kept = [{**entry, "fate": "kept", "reason": ""} for entry in merges[0]["account"]]
    lied, _ = found(loc, changed(true, account=kept))
    assert any("is said to be kept and is not there" in problem for problem in lied)
    unsaid, _ = found(loc, changed(true, account=[]))
    assert any("nothing is said" in problem for problem in unsaid)
    other, _ = found(loc, changed(true, ours="0" * 40))
    assert "the merge of experiences/a.md is not what landed" in other
    hidden, _ = found(loc, {**true, "resolved_by": ""})
    assert hidden == ["scripted/1 decided a merge and is not in resolved_by"]
    swapped, _ = found(loc, changed(true, wanted="else"))
    assert "the merge of experiences/a.md: what the plan wanted is not the recorded blob" in swapped
    gone, notes = found(loc, changed(true, base="1" * 40))
    assert (gone, len(notes)) == ([], 1)


def test_a_record_of_another_form_is_altered(tmp_path):
    loc = landed(tmp_path / "s", PLAIN, None)
    with pytest.raises((TypeError, ValueError)):
        found(loc, {**on_record(loc), "merges": {}})
    with pytest.raises((TypeError, ValueError)):
        found(loc, {**on_record(loc), "merges": [{"name": 1}]})
    assert layout.plan_folder(str(on_record(loc)["plan_id"]))
