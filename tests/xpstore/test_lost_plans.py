from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import git, make_plan, make_store, page, texts, upsert
from xpstore.commit import commit
from xpstore.lost_plans import apply_again

if TYPE_CHECKING:
    from pathlib import Path

MAIN = "refs/heads/main"


def test_a_group_whose_plans_build_on_each_other_and_nothing_older(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    start = git(tmp_path / "s", "rev-parse", "main")
    commit(loc, [make_plan(loc, upsert("kept", page("kept")), rollouts=())], "main")
    kept = git(tmp_path / "s", "rev-parse", "main")
    first = make_plan(loc, upsert("a", page("a", "One.")), rollouts=())
    second = make_plan(loc, upsert("a", page("a", "Two."), page("a", "One.")), rollouts=())
    commit(loc, [first, second], "main")
    commit(loc, [make_plan(loc, upsert("b", page("b")), branch="train/x", rollouts=())], "train/x")
    git(tmp_path / "s", "update-ref", MAIN, kept)
    faults = apply_again(loc, MAIN, 0)
    assert [(f.what, "applied again" in f.done) for f in faults] == [
        (f"plan {plan.plan_id}", True) for plan in (first, second)
    ]
    assert texts(loc, "main") == {"kept": page("kept"), "a": page("a", "Two.")}
    assert apply_again(loc, MAIN, 0) == []
    git(tmp_path / "s", "update-ref", MAIN, start)
    assert apply_again(loc, MAIN, 2**40) == []  # everything was on record before


def test_a_plan_that_does_not_fit_stays_on_record_and_says_why(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    start = git(tmp_path / "s", "rev-parse", "main")
    plan = make_plan(loc, upsert("a", page("a", "IF late DO call `refund`.")), rollouts=())
    commit(loc, [plan], "main")
    git(tmp_path / "s", "reset", "-q", "--hard", start)
    mine = upsert("a", page("a", "IF late DO NOT call `refund`."))
    commit(loc, [make_plan(loc, mine, learner="person", rollouts=())], "main")
    (fault,) = apply_again(loc, MAIN, 0)
    assert (fault.what, fault.done) == (f"plan {plan.plan_id}", "")
    assert "it is not on main any more: " in fault.problem
