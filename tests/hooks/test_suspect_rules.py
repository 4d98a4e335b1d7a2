from __future__ import annotations

import pytest

from hooks import main_rules
from hooks.trust import Trust
from tests.builders import git, make_plan, page, upsert
from xpstore import gate_record, held_plans
from xpstore.commit import commit

WHY = "names an address"


def said(desk, old, **trusted):
    signers = desk.key.with_name("signers")
    signers.write_text(f"ci {desk.key.with_suffix('.pub').read_text()}")
    shelf = desk.loc.repo.ref(desk.loc.evidence_ref)
    (loc,) = main_rules.guarded(desk.loc.repo, "refs/heads/main", old)
    return [r.text for r in main_rules.check(loc, old, desk.main, shelf, Trust(signers, **trusted))]


def teach(desk, name, why=WHY):
    """Land a plan on main as a plain push would have it; return its id."""
    plan = make_plan(desk.loc, upsert(name, page(name)), suspect=why, rollouts=())
    (landed,) = commit(desk.loc, [plan], "main")
    return landed.plan_id


def word(plan_id, name):
    return f"Pat{held_plans._ACCEPTS}{plan_id} (Teach {name}): {WHY}"


def test_a_suspect_plan_needs_more_than_the_gates_yes(desk):
    old = desk.main
    plan = teach(desk, "b")
    desk.accepted(old, desk.main)
    text = f"the experiences of main stay: nobody has accepted the suspect plan {plan} (Teach b): {WHY}"
    assert said(desk, old) == [text]
    record = desk.gate(old, desk.main, let_in=(word(plan, "b"),))
    assert said(desk, old) == [text]  # anybody can write it
    desk.sign(record)
    assert said(desk, old) == []


def test_the_word_is_for_one_plan(desk):
    old = desk.main
    first, second = teach(desk, "b"), teach(desk, "c")
    desk.sign(desk.gate(old, desk.main, let_in=(word(first, "b"),)))
    (text,) = said(desk, old)
    assert second in text


def test_an_ordinary_plan_needs_no_word(desk):
    old = desk.main
    teach(desk, "b", why="")
    desk.accepted(old, desk.main)
    assert said(desk, old) == []


@pytest.mark.parametrize("is_named", [True, False])
def test_where_no_gate_is_wanted_the_word_is_wanted_all_the_same(desk, is_named):
    old = desk.main
    plan = teach(desk, "b")
    assert len(said(desk, old, needs_gate=False)) == 1
    let_in = (word(plan if is_named else "x", "b"),)
    gate_record.write(desk.loc, gate_record.ungated(desk.loc, desk.main, old, "not asked", let_in))
    assert bool(said(desk, old, needs_gate=False)) != is_named


def test_one_that_was_pushed_with_its_revert_needs_a_word_when_that_is_undone(desk):
    here, start = desk.loc.repo.place, desk.main
    plan = teach(desk, "b")
    git(here, "revert", "--no-edit", "HEAD")
    old = desk.main
    assert said(desk, start, needs_gate=False) == []
    git(here, "revert", "--no-edit", "HEAD")
    (text,) = said(desk, old, needs_gate=False)
    assert plan in text
    gate_record.write(desk.loc, gate_record.ungated(desk.loc, desk.main, old, "", (word(plan, "b"),)))
    assert said(desk, old, needs_gate=False) == []


def test_what_main_has_already_is_not_asked_about_again(desk):
    teach(desk, "b")
    old = desk.main
    teach(desk, "c", why="")
    desk.accepted(old, desk.main)
    assert said(desk, old) == []
