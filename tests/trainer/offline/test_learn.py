from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.trainer.offline.world import call, rollout, say, shop
from trainer.offline.facts import Facts, read_facts
from trainer.offline.learn import ALLOWED, Learning, learn
from trainer.offline.wording import evidence
from trainer.stats import Table

RULE = "Do not call `cancel_order` when the age in days of the `created_at` of `order_id` is more than 30."


def facts_of(**options: object) -> list[Facts]:
    return [read_facts(r, r.evaluation) for r in shop(**options)]  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def learned() -> Learning:
    return learn(facts_of(cases=24, trials=6))


def test_a_hidden_rule_is_found_with_its_threshold(learned: Learning) -> None:
    assert [one.lesson.sentence() for one in learned.lessons] == [RULE]


def test_a_lesson_knows_successes_and_failures(learned: Learning) -> None:
    one = learned.lessons[0]
    ended = {r.failed for r in learned.bench.corpus.rollouts if r.id in one.support}  # type: ignore[union-attr]
    assert ended == {True, False}
    assert one.cases >= 3
    assert one.left_out_failed.difference > 0.3


def test_criteria_name_the_rule() -> None:
    found = learn(facts_of(cases=24, trials=6, criteria=True)).lessons
    assert [(one.lesson.sentence(), one.outcome) for one in found] == [(RULE, "failed window")]


def test_the_order_of_rollouts_does_not_matter(learned: Learning) -> None:
    again = facts_of(cases=24, trials=6)
    random.Random(3).shuffle(again)  # noqa: S311
    found = learn(again)
    assert found.lessons == learned.lessons
    assert [(t.lesson, why) for t, why in found.dropped] == [(t.lesson, why) for t, why in learned.dropped]


def test_little_data_is_met_with_silence() -> None:
    assert learn([]).lessons == ()
    assert learn(facts_of(cases=2, trials=2)).lessons == ()


def test_what_does_not_show_the_agent_says_of_no_call_that_it_was_left_out() -> None:
    asked = say("user", "Where is my order?")
    looked = [asked, call("get_order", {"order_id": "O1"}, {"order_id": "O1"}), say("assistant", "Here.")]
    talked = [asked, say("assistant", "I do not know.")]
    made = [
        read_facts(found, found.evaluation)
        for case in range(12)
        for trial in range(4)
        for found in [
            rollout(looked if trial % 2 else talked, case=f"c{case}", passed=bool(trial % 2), trial=trial)
        ]
        if found.evaluation
    ]
    unseen = [rollout([asked], case=f"s{case}", passed=False) for case in range(9)]
    lessons = learn(made).lessons
    assert [one.lesson.sentence() for one in lessons] == ["Do not end without having called `get_order`."]
    assert learn([*made, *(read_facts(r, r.evaluation) for r in unseen if r.evaluation)]).lessons == lessons


def test_where_nothing_is_true_almost_nothing_is_written() -> None:
    made = facts_of(cases=16, trials=5)
    written = 0
    for seed in range(12):
        ended = [f.failed for f in made]
        random.Random(seed).shuffle(ended)  # noqa: S311
        written += len(learn([replace(f, failed=bad) for f, bad in zip(made, ended, strict=True)]).lessons)
    assert written <= 2
    assert sum(ALLOWED.values()) <= 0.2


def test_what_is_left_out_has_a_reason(learned: Learning) -> None:
    assert {why for _, why in learned.dropped} <= {
        "chance does as well",
        "a better lesson explains it",
        "a simpler lesson says it",
        "does not hold on left-out cases",
        "breaking it does not lead to failure",
    }


def payments(*, scored: bool) -> list[Facts]:
    """Rollouts that pay in cash, which the tool refuses, or by card."""
    found = []
    for number in range(48):
        broke = number % 2 == number // 12 % 2
        paid = call("pay", {"method": "cash"}, "Error: method cash is not supported", refused=True)
        if not broke:
            paid = call("pay", {"method": "card"}, {"ok": True})
        made = rollout([say("user", "pay"), paid], case=f"case-{number % 12}", passed=not broke, trial=number)
        evaluation = made.evaluation
        assert evaluation is not None
        made = made if scored else made.model_copy(update={"evaluation": None})
        found.append(read_facts(made, evaluation))
    return found


def test_without_scores_only_what_tools_refuse_is_learned() -> None:
    learned = learn(payments(scored=False)).lessons
    assert [one.outcome for one in learned] == ["refused pay method cash is not supported"]
    assert learned[0].left_out_failed == Table()
    assert "nobody scored those that broke it" in evidence(learned[0], instructed=False)
    nobody = [replace(one, scored=False) for one in facts_of(cases=24, trials=6)]
    assert learn(nobody).lessons == ()


def test_rollouts_without_a_score_do_not_count_as_passed() -> None:
    scored = facts_of(cases=24, trials=6)
    others = facts_of(cases=24, trials=6, seed=2, name="other")
    nobody = [replace(one, scored=False, failed=False) for one in others]
    figures = [(one.lesson, one.left_out_failed) for one in learn(scored).lessons]
    assert [(one.lesson, one.left_out_failed) for one in learn([*scored, *nobody]).lessons] == figures
