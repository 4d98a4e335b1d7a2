"""Every fault of an endpoint and of a model, through the real client and a real server."""

from __future__ import annotations

import asyncio

import pytest

from tests.llm_server import Fault, Seen
from tests.trainer.asking.questions import GOOD, Lesson, ask_all, question, settings_of
from trainer.asking import attempts
from trainer.asking.asker import first_request
from trainer.asking.budget import prompt_tokens
from trainer.asking.chat import ChatRequest, Message
from trainer.asking.open import open_asker
from trainer.asking.question import Answer, AskError, Usage, anything

BETTER = Lesson(lesson="Ask first.", confidence=7)
LATE = 0.2
"""Seconds after which a server that never answers is given up."""


def ask(server, answer, asked=None, **changes):
    server.on("extract", answer)
    (result,), budget = ask_all(settings_of(server, **changes), [asked or question()])
    return result, budget


@pytest.mark.parametrize(
    ("fault", "calls"),
    [
        (Fault("fenced", answer=GOOD), 1),
        (Fault("prose", answer=GOOD), 1),
        (Fault("thinking", answer=GOOD), 1),
        (GOOD, 1),
        ([Fault("not_json"), GOOD], 2),
        ([Fault("wrong_schema"), GOOD], 2),
        ([{"lesson": "x" * 41, "confidence": 7}, GOOD], 2),
        ([{"lesson": ["a list"], "confidence": "many"}, GOOD], 2),
        ([{"lesson": "Ask first.", "confidence": 11}, GOOD], 2),
        ([{"lesson": "Ask first."}, GOOD], 2),
        (['{"lesson": "\\ud800", "confidence": 7}', GOOD], 2),
        (["[" * 100_000, GOOD], 2),
        (['{"lesson": "Ask first.", "confidence": ' + "7" * 5_000 + "}", GOOD], 2),
        ([[GOOD], GOOD], 2),
        ([Fault("length", answer=GOOD), GOOD], 2),
        ([Fault("empty"), GOOD], 2),
    ],
    ids=repr,
)
def test_what_a_model_does_is_read_or_repaired(llm_server, fault, calls):
    result, budget = ask(llm_server, fault)
    assert isinstance(result, Answer), result
    assert result.value == BETTER
    assert result.usage == budget.total
    assert (result.usage.calls, result.usage.repaired) == (calls, calls - 1)
    assert sum(budget.mended.values()) == (0 if fault is GOOD else 1), "and counted"
    assert llm_server.counts["extract"] == calls
    assert not budget.faults


@pytest.mark.parametrize(
    ("fault", "name", "calls", "says"),
    [
        (Fault("not_json"), "form", 2, "there is no JSON object in the answer"),
        (Fault("wrong_schema"), "form", 2, "lesson: Field required"),
        (Fault("length", answer=GOOD), "length", 2, "cut after 200 tokens"),
        (Fault("empty"), "empty", 2, "answered nothing, twice"),
        (Fault("refusal"), "refusal", 1, "I cannot help with that."),
        (Fault("filtered"), "refusal", 1, "the model refused"),
        (Fault("status", 500), "http", 1, "answered 500: something went wrong"),
        (Fault("status", 503, body=""), "http", 1, "answered 503"),
        (Fault("status", 429, retry_after="0"), "http", 1, "answered 429"),
        (Fault("status", 429, retry_after="3600"), "http", 1, "answered 429"),
        (Fault("status", 401), "http", 1, "answered 401"),
        (Fault("reset"), "connection", 1, "cannot be reached"),
        (Fault("truncated"), "connection", 1, "cannot be reached"),
        (Fault("slow"), "timeout", 1, "did not answer within 0.2 s"),
        (Fault("drip"), "timeout", 1, "did not answer within 0.2 s"),
        (Fault("malformed"), "http", 1, "sent text that is not JSON"),
        (Fault("html"), "http", 1, "sent a web page"),
        (Fault("nothing"), "http", 1, "sent nothing"),
        (Fault("no_choices"), "http", 1, "sent an answer without choices"),
        (Fault("upstream"), "http", 1, "the provider is down"),
    ],
    ids=repr,
)
def test_what_cannot_be_repaired_fails_as_data(llm_server, fault, name, calls, says):
    late = {"timeout": LATE} if fault.name in {"slow", "drip"} else {}
    result, budget = ask(llm_server, fault, **late)
    assert isinstance(result, AskError), result
    assert result.fault == name
    assert late or llm_server.counts["extract"] == calls, "it may not even have arrived"
    assert says in result.message
    assert budget.faults == {("extract", name): 1}
    assert result.usage == budget.total, "what it has cost is told"


@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", 429, retry_after="0"),
        Fault("status", 500, retry_after="0"),
        Fault("status", 503, retry_after="0"),
    ],
    ids=repr,
)
def test_an_endpoint_that_recovers_is_asked_again(llm_server, monkeypatch, fault):
    monkeypatch.setattr(attempts, "FIRST_PAUSE", 0.001)
    result, budget = ask(llm_server, [fault, fault, GOOD], retries=2)
    assert result.value == BETTER
    assert llm_server.counts["extract"] == 3
    assert budget.total.calls == 1, "calls are what was answered"
    assert budget.mended == {("extract", "retried"): 2}


def test_one_failure_of_many_questions_is_one_failure(llm_server):
    def answer(seen: Seen) -> object:
        return Fault("status", 500) if "bad" in seen.content else GOOD

    llm_server.on("extract", answer)
    asked = [question("bad" if n == 3 else f"talk {n}") for n in range(8)]
    results, budget = ask_all(settings_of(llm_server, parallel=4), asked)
    assert [isinstance(r, AskError) for r in results] == [n == 3 for n in range(8)]
    assert budget.faults == {("extract", "http"): 1}
    assert llm_server.most_at_once <= 4


def test_the_repair_shows_the_answer_and_what_is_wrong(llm_server):
    _, budget = ask(llm_server, [{"lesson": "Ask first.", "confidence": 70}, GOOD])
    second = llm_server.requests[1].messages
    assert budget.mended == {("extract", "form"): 1}
    assert [m["role"] for m in second] == ["system", "user", "assistant", "user"]
    assert '"confidence": 70' in second[2]["content"]
    assert "- confidence: Input should be less than or equal to 10" in second[3]["content"]


def test_what_the_check_says_is_shown_and_decides(llm_server):
    def check(lesson: Lesson) -> list[str]:
        return [] if lesson.confidence > 5 else ["confidence: be sure"]

    poor = {"lesson": "Ask.", "confidence": 1}
    result, _ = ask(llm_server, [poor, GOOD], question(check=check))
    assert result.value == BETTER
    assert "- confidence: be sure" in llm_server.requests[1].last
    result, _ = ask(llm_server, poor, question(check=check))
    assert (result.fault, "confidence: be sure" in result.message) == ("wrong", True)


@pytest.mark.parametrize(
    ("second", "taken", "is_kept"),
    [
        ({"lesson": "Poor too.", "confidence": 1}, "Poor too.", True),
        (Fault("not_json"), "Poor.", True),
        (Fault("refusal"), "Poor.", True),
        (Fault("status", 500), "Poor.", False),
    ],
    ids=repr,
)
def test_a_stage_that_leaves_out_what_is_wrong_gets_what_there_is(
    llm_server, tmp_path, second, taken, is_kept
):
    asked = question(check=lambda _: ["no"], stands=anything)
    llm_server.on("extract", [{"lesson": "Poor.", "confidence": 1}, second])
    (result,), _ = ask_all(settings_of(llm_server), [asked], answers=tmp_path / "answers")
    assert result.value.lesson == taken
    kept = [f for f in (tmp_path / "answers").glob("*") if f.name != "abilities.json"]
    assert bool(kept) == is_kept


def test_a_long_wrong_answer_is_shown_in_part(llm_server):
    ask(llm_server, ["x" * 50_000, GOOD])
    assert len(llm_server.requests[1].messages[2]["content"]) < 5_000


@pytest.mark.parametrize(("spare", "shown"), [(100, 0), (400, 500), (900, 2_000), (5_000, 3_000)])
def test_a_question_that_is_asked_again_fits_too(llm_server, spare, shown):
    """As much of the wrong answer is shown as the question has left room for."""
    sent = prompt_tokens(first_request(question(), "scripted"))
    settings = settings_of(llm_server, context_tokens=sent + 200 + spare)
    llm_server.on("extract", ["文" * 1_000, GOOD])
    ask_all(settings, [question()])
    messages = [Message(role=m["role"], content=m["content"]) for m in llm_server.requests[1].messages]
    again = first_request(question(), "scripted").model_copy(update={"messages": tuple(messages)})
    assert prompt_tokens(again) + again.max_tokens <= settings.context_tokens
    assert len(messages[2].content.encode()) >= shown


def test_names_that_a_model_made_up_are_cut_in_errors(llm_server):
    result, _ = ask(llm_server, {"x" * 5_000: "sk-" + "a" * 40, **GOOD})
    assert result.fault == "form"
    assert len(result.message) < 500
    assert "sk-a" not in result.message


def test_the_schema_is_in_the_prompt_and_in_the_request(llm_server):
    ask(llm_server, GOOD)
    (seen,) = llm_server.requests
    assert '"maxLength": 40' in seen.system
    wanted = seen.body["response_format"]["json_schema"]
    assert (wanted["strict"], wanted["schema"]["additionalProperties"]) == (True, False)
    assert (seen.body["max_tokens"], seen.body["temperature"]) == (200, 0)


@pytest.mark.parametrize(
    ("forms", "asked"),
    [
        ({"json_object", "prompt"}, ["json_schema", "json_object", "json_object"]),
        ({"prompt"}, ["json_schema", "json_object", "prompt", "prompt"]),
    ],
    ids=["json_object", "prompt"],
)
def test_an_endpoint_is_asked_in_a_form_that_it_reads_from_then_on(llm_server, tmp_path, forms, asked):
    llm_server.forms = frozenset(forms)
    llm_server.on("extract", GOOD)
    settings = settings_of(llm_server)
    for content in ("one", "two"):
        (result,), _ = ask_all(settings, [question(content)], answers=tmp_path)
        assert result.value == BETTER
    assert [seen.form for seen in llm_server.requests] == asked


def test_an_endpoint_that_takes_a_schema_for_a_failure_of_its_own(llm_server):
    said = '{"error": {"message": "Input should be \'text\' or \'json_object\' (response_format.type)"}}'

    def answer(seen: Seen) -> object:
        return Fault("status", 500, body=said) if seen.form == "json_schema" else GOOD

    result, _ = ask(llm_server, answer)
    assert result.value == BETTER
    assert [seen.form for seen in llm_server.requests] == ["json_schema", "json_object"]


@pytest.mark.parametrize("name", ["max_tokens", "temperature", "seed"])
def test_a_parameter_that_is_not_taken_is_left_out(llm_server, name):
    llm_server.rejects = frozenset({name})
    llm_server.on("act", "yes")
    request = ChatRequest(
        stage="act", about="", model="scripted", messages=(_say("act"),), max_tokens=9, seed=1
    )

    async def run():
        async with open_asker(settings_of(llm_server)) as asker:
            return [await asker.converse(request), await asker.converse(request)]

    assert [reply.text for reply, _ in asyncio.run(run())] == ["yes", "yes"]
    assert [name in seen.body for seen in llm_server.requests] == [True, False, False]
    limit = llm_server.requests[-1].body
    assert (limit.get("max_tokens") or limit.get("max_completion_tokens")) == 9


def _say(stage) -> Message:
    return Message(role="system", content=f"Stage: {stage}\n\nDo.")


def test_a_prompt_that_is_too_long_lowers_nothing(llm_server, tmp_path):
    said = '{"error": {"message": "the context is too long"}}'
    llm_server.on("extract", [Fault("status", 400, body=said), GOOD])
    (result,), _ = ask_all(settings_of(llm_server), [question("long")], answers=tmp_path)
    assert result.fault == "http"
    ask_all(settings_of(llm_server), [question("short")], answers=tmp_path)
    assert llm_server.requests[-1].form == "json_schema"


def test_the_same_question_is_paid_for_once_also_side_by_side(llm_server):
    llm_server.on("extract", GOOD)
    results, budget = ask_all(settings_of(llm_server), [question()] * 5)
    assert {r.value for r in results} == {BETTER}
    assert (budget.total.calls, budget.total.reused) == (1, 4)


def test_a_run_that_is_repeated_pays_for_the_rest_alone(llm_server, tmp_path):
    down = True

    def answer(seen: Seen) -> object:
        return Fault("status", 500) if down and "2" in seen.content else {**GOOD, "lesson": seen.content}

    llm_server.on("extract", answer)
    asked = [question(f"talk {n}") for n in range(4)]
    first, _ = ask_all(settings_of(llm_server), asked, answers=tmp_path)
    down = False
    second, budget = ask_all(settings_of(llm_server), asked, answers=tmp_path)
    assert [r.value.lesson for r in second] == [f"talk {n}" for n in range(4)]
    assert [r.value for n, r in enumerate(first) if n != 2] == [
        r.value for n, r in enumerate(second) if n != 2
    ]
    assert (budget.total.calls, budget.total.reused) == (1, 3)
    _, budget = ask_all(settings_of(llm_server), asked, answers=tmp_path, again=True)
    assert (budget.total.calls, budget.total.reused) == (4, 0)


def test_an_answer_on_record_that_is_no_longer_right_is_asked_for_anew(llm_server, tmp_path):
    llm_server.on("extract", [{"lesson": "Old.", "confidence": 1}, GOOD])
    ask_all(settings_of(llm_server), [question()], answers=tmp_path)
    asked = question(check=lambda lesson: ["too low"] if lesson.confidence < 5 else [])
    (result,), _ = ask_all(settings_of(llm_server), [asked], answers=tmp_path)
    assert result.value == BETTER


def test_another_model_form_prompt_or_text_is_another_question(llm_server, tmp_path):
    llm_server.on("extract", GOOD)

    class Other(Lesson):
        """The same fields, told otherwise."""

    settings = settings_of(llm_server)
    ask_all(settings, [question()], answers=tmp_path)
    others = [question("other"), question(form=Other), question(max_tokens=300)]
    ask_all(settings, others, answers=tmp_path)
    ask_all(settings_of(llm_server, model="larger"), [question()], answers=tmp_path)
    assert llm_server.counts["extract"] == 5


def test_a_question_that_is_given_up_leaves_nothing_behind(llm_server, tmp_path):
    async def run() -> Usage:
        loop, all_there = asyncio.get_running_loop(), asyncio.Event()

        def answer(_: Seen) -> Fault:
            if llm_server.counts["extract"] == 3:
                loop.call_soon_threadsafe(all_there.set)
            return Fault("slow")

        llm_server.on("extract", answer)
        async with open_asker(settings_of(llm_server), answers=tmp_path / "a") as asker:
            tasks = [asyncio.create_task(asker.ask(question(f"talk {n}"))) for n in range(3)]
            await all_there.wait()
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(r, asyncio.CancelledError) for r in results)
            llm_server.on("extract", GOOD)
            return (await asker.ask(question("after"))).usage

    assert asyncio.run(run()).calls == 1
    assert len(list((tmp_path / "a").iterdir())) == 1


def test_only_the_first_line_of_a_prompt_is_the_stage():
    request = first_request(question(), "m")
    assert request.messages[0].content.split("\n")[0] == "Stage: extract"
    assert request.messages[1].content == "what was said"


def test_an_endpoint_that_answers_one_at_a_time_is_sent_no_more_than_it_can_answer(llm_server):
    """All 16 at once would wait for longer than they may; what has timed out is still worked on there."""
    llm_server.on("extract", GOOD)
    llm_server.one_at_a_time, llm_server.delay = True, 0.04
    slow = settings_of(llm_server, parallel=16, retries=2, timeout=0.4)
    results, budget = ask_all(slow, [question(f"talk {n}") for n in range(32)])
    assert [r for r in results if isinstance(r, AskError)] == []
    assert budget.total.calls == 32
    assert len(llm_server.requests) < 2 * 32
    assert budget.mended.get(("extract", "retried"), 0) == len(llm_server.requests) - 32
