from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import evidence, gate_record, held_plans
from xpstore.commit import commit
from xpstore.gate_record import GateRecord
from xpstore.hashing import content_id
from xpstore.landing import GateVerdict, land

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

BRANCH = "train/x"
WHY = "names an address"


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    """Return a store whose candidate has an ordinary plan and a suspect one."""
    found = make_store(tmp_path / "s")
    for name, why in (("a", ""), ("b", WHY)):
        plan = make_plan(found, upsert(name, page(name)), branch=BRANCH, suspect=why, rollouts=())
        commit(found, [plan], BRANCH)
    return found


def asked(verdicts: list[str]):
    def gate(candidate):
        verdicts.append(candidate.new)
        return GateVerdict("accept", "fine")

    return gate


@pytest.mark.parametrize("dry_run", [True, False])
def test_nothing_lands_with_a_suspect_plan_and_no_gate_is_asked(loc: Location, *, dry_run: bool) -> None:
    before, measured = git(loc.repo.place, "for-each-ref"), []
    result = land(loc, BRANCH, gate=asked(measured), dry_run=dry_run)
    (plan,) = result.candidate.suspects
    assert (result.state, plan.subject, plan.why, measured) == ("suspect", "Teach b", WHY, [])
    assert plan.plan_id in plan.sentence
    assert git(loc.repo.place, "for-each-ref") == before


def test_a_person_lets_it_in_and_that_is_on_record(loc: Location) -> None:
    result = land(loc, BRANCH, on_suspect="accept")
    assert result.state == "landed"
    (path,) = evidence.listing(loc, "gates")
    record = gate_record.read(loc, path)
    assert record is not None
    (plan,) = result.candidate.suspects
    assert record.let_in == (f"Pat accepts the suspect plan {plan.plan_id} (Teach b): {WHY}",)


def test_what_a_gate_would_say_can_be_asked_all_the_same(loc: Location) -> None:
    measured: list[str] = []
    result = land(loc, BRANCH, gate=asked(measured), dry_run=True, on_suspect="ignore")
    assert (result.state, len(measured), result.candidate.let_in) == ("landed", 1, ())
    assert len(result.candidate.suspects) == 1


@pytest.mark.parametrize("times", [1, 2])
def test_a_suspect_plan_that_was_undone_on_its_branch_is_out_of_the_question(
    loc: Location, times: int
) -> None:
    here = loc.repo.place
    git(here, "switch", "-q", BRANCH)
    for _ in range(times):
        git(here, "revert", "--no-edit", "HEAD")
    git(here, "switch", "-q", "main")
    assert land(loc, BRANCH).state == ("landed" if times == 1 else "suspect")


@pytest.fixture
def undone(loc: Location) -> str:
    """Have main take both plans, the suspect one together with its revert; return the revert."""
    here = loc.repo.place
    git(here, "switch", "-q", BRANCH)
    git(here, "revert", "--no-edit", "HEAD")
    git(here, "switch", "-q", "main")
    assert land(loc, BRANCH).state == "landed"
    return git(here, "rev-parse", "main").strip()


def test_one_that_an_undone_revert_brings_back_needs_a_word_too(loc: Location, undone: str) -> None:
    here = loc.repo.place
    git(here, "switch", "-q", "-c", "again")
    git(here, "revert", "--no-edit", undone)
    git(here, "switch", "-q", "main")
    result = land(loc, "again")
    assert (result.state, [plan.subject for plan in result.candidate.suspects]) == ("suspect", ["Teach b"])
    assert land(loc, "again", on_suspect="accept").state == "landed"


def test_one_that_is_in_force_is_not_asked_about_again(loc: Location) -> None:
    assert land(loc, BRANCH, on_suspect="accept").state == "landed"
    here = loc.repo.place
    git(here, "switch", "-q", "-c", "more")
    commit(loc, [make_plan(loc, upsert("c", page("c")), branch="more", rollouts=())], "more")
    git(here, "revert", "--no-edit", "HEAD")
    git(here, "revert", "--no-edit", "HEAD")
    git(here, "switch", "-q", "main")
    assert land(loc, "more").state == "landed"


def test_a_squash_that_lost_the_message_is_known_by_its_record(loc: Location) -> None:
    here = loc.repo.place
    git(here, "switch", "-q", "-c", "squashed", "main")
    git(here, "merge", "-q", "--squash", BRANCH)
    git(here, "commit", "-q", "-m", "All of it (#7)")
    git(here, "switch", "-q", "main")
    assert land(loc, "squashed").state == "suspect"


def test_so_is_the_side_of_a_merge(loc: Location) -> None:
    assert land(loc, BRANCH, merge=True).state == "suspect"
    assert land(loc, BRANCH, merge=True, on_suspect="accept").state == "landed"


def test_a_candidate_without_any_has_none(loc: Location) -> None:
    assert held_plans.of(loc, (), "main") == ()


def test_a_record_that_lets_nothing_in_has_the_id_that_it_always_had(loc: Location) -> None:
    record = gate_record.ungated(loc, loc.repo.resolve(BRANCH), loc.repo.resolve("main"), "in a hurry")
    data = record.model_dump(mode="json")
    assert data.pop("let_in") == []
    assert record.id == content_id(data)
    assert GateRecord.model_validate(data) == record


def test_who_is_let_in_can_be_read_back_whatever_the_plan_says_of_itself() -> None:
    said = "Pat accepts the suspect plan aaa (Pat accepts the suspect plan bbb (x): y): z"
    assert held_plans.accepted([said, "Pat accepts the suspect plan ccc (C): d", "", "of another age"]) == {
        "aaa",
        "ccc",
    }
