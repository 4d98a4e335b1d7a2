from __future__ import annotations

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from tests.scripted import Scripted
from xpstore.commit import commit
from xpstore.errors import ConflictError
from xpstore.landing import land
from xpstore.resolution import Asking, resolve
from xpstore.resolver import Claim, Declined, OfflineResolver, Resolution

BASE = "## Approach\n\n- Ask for the order number.\n- Be short.\n"
OURS = "## Approach\n\n- Ask for the order number and the zip code.\n- Check the weather.\n- Be short.\n"
THEIRS = "## Approach\n\n- Ask for the order number and the email.\n- Never shout.\n- Be short.\n"
BOTH = "- Ask for the order number and the zip code and the email."


GOOD = Resolution(
    ((BOTH, "- Check the weather.", "- Never shout."),),
    (
        Claim(1, "superseded", into=BOTH),
        Claim(2, "merged", into=BOTH),
        Claim(3, "kept"),
        Claim(4, "merged", into=BOTH),
        Claim(5, "kept"),
    ),
)
THEIRS_ONLY = Resolution(
    (("- Ask for the order number and the email.", "- Never shout."),),
    (
        Claim(1, "superseded", into="- Ask for the order number and the email."),
        Claim(2, "dropped", reason="theirs is better"),
        Claim(3, "dropped", reason="not needed"),
        Claim(4, "kept"),
        Claim(5, "kept"),
    ),
)


def test_a_good_decision_is_verified():
    resolved = resolve(BASE, OURS, THEIRS, Scripted([GOOD]))
    assert resolved.verdict == "VERIFIED"
    assert resolved.text == f"## Approach\n\n{BOTH}\n- Check the weather.\n- Never shout.\n- Be short.\n"
    assert resolved.account == GOOD.account


def test_a_resolver_sees_numbered_statements_with_their_section_and_not_the_file():
    model = Scripted([GOOD])
    resolve(BASE, OURS, THEIRS, model)
    ((hunks, findings),) = model.told
    assert not findings
    assert [(s.number, s.section, s.text) for s in hunks[0].statements] == [
        (1, "Approach", "- Ask for the order number."),
        (2, "Approach", "- Ask for the order number and the zip code."),
        (3, "Approach", "- Check the weather."),
        (4, "Approach", "- Ask for the order number and the email."),
        (5, "Approach", "- Never shout."),
    ]


def test_a_resolver_that_takes_one_side_is_refused_and_the_lesson_is_quoted():
    """A model that keeps only theirs must not lose what ours had learned."""
    model = Scripted([THEIRS_ONLY, THEIRS_ONLY])
    resolved = resolve(BASE, OURS, THEIRS, model)
    assert any("Check the weather." in o.message for o in resolved.objections)
    assert "- Check the weather." in (resolved.text or "")
    assert resolved.verdict == "PROVEN"  # what the merge without a model gives may be written


def test_the_second_answer_is_given_with_the_objections_to_the_first():
    model = Scripted([THEIRS_ONLY, GOOD])
    assert resolve(BASE, OURS, THEIRS, model).verdict == "VERIFIED"
    assert any("Check the weather." in finding for finding in model.told[1][1])


def test_a_resolver_may_decline():
    resolved = resolve(
        "- x\n", "- x\n- Always ask.\n", "- x\n- Never ask.\n", Scripted([Declined("unclear")])
    )
    assert (resolved.verdict, resolved.text) == ("REFUSED", "- x\n- Always ask.\n")
    assert [o.message for o in resolved.objections] == ["unclear"]


def test_a_model_decides_between_opposite_commands():
    keep_theirs = Resolution(
        (("- Never ask.",),), (Claim(1, "dropped", reason="it is the opposite"), Claim(2, "kept"))
    )
    resolved = resolve("- x\n", "- x\n- Always ask.\n", "- x\n- Never ask.\n", Scripted([keep_theirs]))
    assert (resolved.verdict, resolved.text) == ("VERIFIED", "- x\n- Never ask.\n")


def test_opposite_commands_never_end_up_side_by_side():
    both = Resolution((("- Always ask.", "- Never ask."),), (Claim(1, "kept"), Claim(2, "kept")))
    resolved = resolve("- x\n", "- x\n- Always ask.\n", "- x\n- Never ask.\n", Scripted([both, both]))
    assert resolved.verdict == "REFUSED"


def test_nobody_is_asked_where_nothing_overlaps():
    resolved = resolve("- a\n", "- a\n- o\n", "- a\n- t\n", Scripted([]))
    assert (resolved.verdict, resolved.text) == ("PROVEN", "- a\n- o\n- t\n")


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("- a\n", None, "- b\n"),
        ("- a\n", "- b\n", None),
        ("- a\n", "---\nx: [\n---\n", "- b\n"),
    ],
)
def test_what_is_no_matter_of_statements_is_left_to_people(base, ours, theirs):
    resolved = resolve(base, ours, theirs, Scripted([]))
    assert (resolved.verdict, resolved.text) == ("REFUSED", ours)


def test_front_matter_can_be_decided():
    base, ours, theirs = (f"---\nname: x\nwhen: {w}\n---\n\n- a\n" for w in ("now", "later", "soon"))
    answer = Resolution(
        (("when: soon or later\n",),),
        (
            Claim(1, "superseded", into="when: soon or later"),
            Claim(2, "merged", into="when: soon or later"),
            Claim(3, "merged", into="when: soon or later"),
        ),
    )
    resolved = resolve(base, ours, theirs, Scripted([answer]))
    assert (resolved.verdict, resolved.text) == (
        "VERIFIED",
        "---\nname: x\nwhen: soon or later\n---\n\n- a\n",
    )


def test_front_matter_that_does_not_parse_is_refused():
    base, ours, theirs = (f"---\nname: x\nwhen: {w}\n---\n\n- a\n" for w in ("now", "later", "soon"))
    answer = Resolution((("when: [\n",),), (Claim(1, "kept"), Claim(2, "kept"), Claim(3, "kept")))
    assert resolve(base, ours, theirs, Scripted([answer, answer])).verdict == "REFUSED"


def test_a_decision_for_another_number_of_hunks_is_refused():
    resolved = resolve(BASE, OURS, THEIRS, Scripted([Resolution((), ()), Declined("")]))
    assert resolved.verdict == "PROVEN"
    assert "0 decisions for 1 hunks" in [o.message for o in resolved.objections]


def test_the_offline_resolver_keeps_both_sides_without_a_model():
    resolved = resolve(BASE, OURS, THEIRS, OfflineResolver())
    assert resolved.verdict == "PROVEN"
    assert {"- Check the weather.", "- Never shout."} <= set((resolved.text or "").split("\n"))


def test_the_offline_resolver_refuses_opposite_commands():
    resolved = resolve("- x\n", "- x\n- Always ask.\n", "- x\n- Never ask.\n", OfflineResolver())
    assert resolved.verdict == "REFUSED"
    assert [o.check for o in resolved.objections] == ["declined"]


@pytest.fixture
def loc(tmp_path):
    """A store whose main and candidate learned opposite things from the same page."""
    found = make_store(tmp_path / "s")
    first = page("a", "Be short.")
    commit(found, [make_plan(found, upsert("a", first))], "main")
    lessons = {"train/x": "Never ask.", "main": "Always ask."}
    plans = {
        branch: make_plan(found, upsert("a", page("a", "Be short.", lesson), before=first))
        for branch, lesson in lessons.items()
    }
    for branch, plan in plans.items():
        commit(found, [plan], branch)
    return found


def test_a_landing_asks_a_resolver_once_per_question(loc):
    answer = Resolution(
        (("- Never ask.",),), (Claim(1, "dropped", reason="the opposite stays"), Claim(2, "kept"))
    )
    model = Scripted([answer])
    asking = Asking(model)
    for dry_run in (True, False):
        assert land(loc, "train/x", merge_page=asking, dry_run=dry_run).state == "landed"
    assert [done.verdict for done in asking.resolved.values()] == ["VERIFIED"]
    assert len(model.told) == 1
    assert git(loc.repo.place, "show", "main:experiences/a.md").endswith("- Be short.\n- Never ask.")


def test_a_landing_that_a_resolver_cannot_decide_moves_nothing(loc):
    before = git(loc.repo.place, "rev-parse", "main")
    with pytest.raises(ConflictError):
        land(loc, "train/x", merge_page=Asking(OfflineResolver()))
    assert git(loc.repo.place, "rev-parse", "main") == before
