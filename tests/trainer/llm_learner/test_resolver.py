from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.trainer.llm_learner.askers import FunctionAsker
from trainer.asking.form import schema_of
from trainer.asking.question import AskError
from trainer.llm_learner.resolver import Decision, LLMResolver
from xpstore.resolution import resolve
from xpstore.resolver import Declined

BASE = "## Approach\n\n- Ask for the order number.\n- Be short.\n"
OURS = "## Approach\n\n- Ask for the order number and the zip code.\n- Check the weather.\n- Be short.\n"
THEIRS = "## Approach\n\n- Ask for the order number and the email.\n- Never shout.\n- Be short.\n"
BOTH = "Ask for the order number and the zip code and the email."
GOOD = {
    "unclear": "",
    "hunks": [{"wordings": [{"number": 100, "text": BOTH}], "stands": [100, 3, 5]}],
    "account": [
        {"number": 1, "fate": "superseded", "into": 100, "reason": ""},
        {"number": 2, "fate": "merged", "into": 100, "reason": ""},
        {"number": 3, "fate": "kept", "into": 0, "reason": ""},
        {"number": 4, "fate": "merged", "into": 100, "reason": ""},
        {"number": 5, "fate": "kept", "into": 0, "reason": ""},
    ],
}
LOSSY = {
    "hunks": [{"wordings": [], "stands": [4, 5]}],
    "account": [
        {"number": 1, "fate": "superseded", "into": 4},
        *({"number": n, "fate": "dropped", "reason": "theirs is better"} for n in (2, 3)),
        {"number": 4, "fate": "kept"},
        {"number": 5, "fate": "kept"},
    ],
}


def resolver(*answers: object, **options: object) -> tuple[LLMResolver, FunctionAsker]:
    """Return a resolver that is given these answers in turn."""
    left = list(answers)
    asker = FunctionAsker(lambda _question, _attempt: left.pop(0))

    @asynccontextmanager
    async def opening():
        yield asker

    return LLMResolver.alone(opening, asker.model, **options), asker


def merged(*answers: object):
    model, asker = resolver(*answers)
    return resolve(BASE, OURS, THEIRS, model), asker


def test_a_good_decision_is_verified_and_the_model_is_named():
    resolved, asker = merged(GOOD)
    assert resolved.verdict == "VERIFIED"
    assert resolved.text == f"## Approach\n\n- {BOTH}\n- Check the weather.\n- Never shout.\n- Be short.\n"
    assert resolved.resolved_by == "llm/1+a/model"
    assert asker.calls == 1


def test_the_model_sees_numbered_statements_between_marks_and_not_the_file():
    _, asker = merged(GOOD)
    (question,) = asker.asked
    assert (question.stage, question.prompt.name) == ("resolve", "resolve")
    assert "[3] new in ours\n| - Check the weather." in question.content
    assert "[1] was there before; ours and theirs took it out, or replaced it" in question.content
    assert "Be short" not in question.content
    assert question.content.startswith("<<<statements ")


def test_the_second_question_has_what_was_wrong_with_the_first_answer():
    resolved, asker = merged(LOSSY, GOOD)
    assert resolved.verdict == "VERIFIED"
    assert len(asker.asked) == 2
    assert "Check the weather" in asker.asked[1].content.partition("refused:")[2]


def test_a_lossy_decision_is_refused_twice_and_both_sides_stay():
    resolved, asker = merged(LOSSY, LOSSY)
    assert asker.calls == 2
    assert resolved.verdict == "PROVEN"  # what merges without a model
    assert "- Check the weather." in (resolved.text or "")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"hunks": []}, "decides 0"),
        ({"hunks": [{"wordings": [], "stands": [3, 5, 77]}]}, "no wording 77"),
        ({"hunks": [{"wordings": [{"number": 3, "text": BOTH}], "stands": [3]}]}, "their own"),
        ({"hunks": [{"wordings": [{"number": 100, "text": "- a\n- b"}], "stands": [100]}]}, "wording 100"),
    ],
)
def test_what_cannot_be_read_as_a_decision_is_asked_for_again_and_then_declined(change, why):
    hunks = OURS, THEIRS
    model, asker = resolver(*[GOOD | change] * 2)
    resolved = resolve(BASE, *hunks, model)
    assert asker.calls == 2
    assert any(why in o.message for o in resolved.objections)
    assert resolved.resolved_by == "offline/1"


def test_a_model_may_leave_it_to_a_person_and_an_endpoint_may_fail():
    model, _ = resolver(
        {"unclear": "two policies", "hunks": [], "account": []}, AskError("http", "it is down")
    )
    (hunk,) = resolve(BASE, OURS, THEIRS, model).conflict.hunks
    assert model.resolve([hunk]) == Declined("it is down")
    model, _ = resolver({"unclear": "two policies", "hunks": [], "account": []})
    assert model.resolve([hunk]) == Declined("two policies")
    model, _ = resolver(AskError("replay", "it was not recorded"))
    with pytest.raises(AskError, match="not recorded"):
        model.resolve([hunk])


def test_what_is_too_long_is_not_asked():
    model, asker = resolver(GOOD, context_tokens=10)
    assert "too long" in resolve(BASE, OURS, THEIRS, model).objections[0].message
    assert asker.calls == 0


def test_front_matter_is_decided_as_yaml():
    base, ours, theirs = (f"---\nname: x\nwhen: {w}\n---\n\n- a\n" for w in ("now", "later", "soon"))
    answer = {
        "hunks": [{"wordings": [{"number": 100, "text": "when: soon or later"}], "stands": [100]}],
        "account": [{"number": n, "fate": "merged", "into": 100} for n in (1, 2, 3)],
    }
    model, asker = resolver(answer)
    resolved = resolve(base, ours, theirs, model)
    assert (resolved.verdict, resolved.text) == (
        "VERIFIED",
        "---\nname: x\nwhen: soon or later\n---\n\n- a\n",
    )
    assert "front matter, as YAML" in asker.asked[0].content


def test_it_asks_from_a_worker_thread_on_the_loop_of_its_asker():
    asker = FunctionAsker(lambda _question, _attempt: GOOD)

    async def run():
        model = LLMResolver.on_loop(asker, asyncio.get_running_loop())
        return await asyncio.to_thread(resolve, BASE, OURS, THEIRS, model)

    assert asyncio.run(run()).verdict == "VERIFIED"


def test_every_part_of_the_answer_is_bounded():
    assert schema_of(Decision)["required"] == ["unclear", "hunks", "account"]
