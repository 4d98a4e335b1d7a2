from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from tests.llm_server import Fault, Reply
from tests.trainer.asking.questions import GOOD, Lesson, ask_all, question, settings_of
from trainer.asking.budget import Budget
from trainer.asking.chat import ChatReply, ChatRequest, Message, ToolCall
from trainer.asking.open import open_asker
from trainer.asking.question import AskError, anything
from trainer.asking.tape import Tape, text_key
from xpstore.errors import RepositoryError, UsageError
from xpstore.settings import LlmSettings

KEY = "sk-proj-Zx81kQ0pWm4nVb72Lc59Ty36"
NOWHERE = {"base_url": "", "model": "scripted"}


def poor(confidence: int = 70) -> dict[str, object]:
    return {**GOOD, "confidence": confidence}


def answer(seen):
    """Good answers, one repaired, one refused, one failure of the endpoint, two beyond repair."""
    number = seen.content[-1]
    if number == "1" and len(seen.messages) == 2:
        return poor()
    odd = {"2": Fault("refusal"), "3": Fault("status", 500), "4": poor(), "5": Fault("length", answer=GOOD)}
    return odd.get(number, {**GOOD, "lesson": seen.content})


def outcome(result: object) -> object:
    return (result.fault, result.message) if isinstance(result, AskError) else result.value


def test_a_replay_comes_to_the_same_without_an_endpoint(llm_server, tmp_path):
    llm_server.on("extract", answer)
    asked = [question(f"talk {n}") for n in range(7)]
    settings = settings_of(llm_server, prompt_price=1.0)
    live, used = ask_all(settings, asked, tape=Tape(tmp_path))
    llm_server.close()
    again, reused = ask_all(
        LlmSettings(prompt_price=1.0, **NOWHERE), asked, tape=Tape(tmp_path, replays=True)
    )
    assert [outcome(r) for r in again] == [outcome(r) for r in live]
    assert (reused.total, reused.faults, reused.mended) == (used.total, used.faults, used.mended)
    assert not list(tmp_path.glob(".*"))


def test_a_recording_is_readable_and_has_no_key(llm_server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    llm_server.on("extract", {**GOOD, "lesson": f"Use {KEY}."})
    (result,), _ = ask_all(settings_of(llm_server), [question("mail ann@acme.example")], tape=Tape(tmp_path))
    assert result.value.lesson == "Use <key>."
    (file,) = tmp_path.iterdir()
    assert file.name.startswith("extract-")
    text = file.read_text("utf-8")
    assert KEY not in text
    assert "ann@acme.example" not in text
    data = json.loads(text)
    assert data["request"]["messages"][0]["content"].startswith("Stage: extract")
    assert data["reply"]["text"] == json.dumps({**GOOD, "lesson": "Use <key>."})
    assert "uthorization" not in text


def test_what_is_masked_on_record_is_masked_in_the_run_that_records(llm_server, tmp_path):
    llm_server.on("extract", {**GOOD, "lesson": "Write to ann@acme.example."})
    (live,), _ = ask_all(settings_of(llm_server), [question()], tape=Tape(tmp_path))
    (again,), _ = ask_all(LlmSettings(**NOWHERE), [question()], tape=Tape(tmp_path, replays=True))
    assert live.value == again.value == Lesson(lesson="Write to <email-1>.", confidence=7)


def test_a_miss_says_what_was_asked(tmp_path):
    (result,), budget = ask_all(LlmSettings(**NOWHERE), [question()], tape=Tape(tmp_path, replays=True))
    assert result.fault == "replay"
    assert "(extract, about rollout ab12, " in result.message
    assert str(tmp_path) in result.message
    assert "record it anew" in result.hint
    assert budget.faults == {("extract", "replay"): 1}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"reply": {"text": 1}}', '{"error": {}}', "\x00"])
def test_a_damaged_recording_is_told(llm_server, tmp_path, text):
    llm_server.on("extract", GOOD)
    ask_all(settings_of(llm_server), [question()], tape=Tape(tmp_path))
    (file,) = tmp_path.iterdir()
    file.write_text(text)
    (result,), _ = ask_all(LlmSettings(**NOWHERE), [question()], tape=Tape(tmp_path, replays=True))
    assert result.fault == "replay"
    assert f"{file.name} is not a recording" in result.message


def test_a_form_that_was_refused_while_recording_is_found_in_a_replay(llm_server, tmp_path):
    llm_server.forms = frozenset({"prompt"})
    llm_server.on("extract", GOOD)
    ask_all(settings_of(llm_server), [question()], tape=Tape(tmp_path))
    (result,), budget = ask_all(LlmSettings(**NOWHERE), [question()], tape=Tape(tmp_path, replays=True))
    assert result.value == Lesson(**GOOD)
    assert budget.total.calls == 1


def test_answers_on_record_get_on_the_tape_too(llm_server, tmp_path):
    llm_server.on("extract", [poor(), GOOD])
    ask_all(settings_of(llm_server), [question()], answers=tmp_path / "answers")
    ask_all(settings_of(llm_server), [question()], answers=tmp_path / "answers", tape=Tape(tmp_path / "tape"))
    assert llm_server.counts["extract"] == 2
    replay = Tape(tmp_path / "tape", replays=True)
    (result,), _ = ask_all(LlmSettings(**NOWHERE), [question()], tape=replay)
    assert result.value == Lesson(**GOOD)


def test_what_is_private_is_masked_in_the_run_that_records_and_on_no_record_before(llm_server, tmp_path):
    llm_server.on("extract", {**GOOD, "lesson": "Write to ann@acme.example."})
    settings, answers = settings_of(llm_server), tmp_path / "answers"
    (plain,), _ = ask_all(settings, [question()], answers=answers)
    assert plain.value.lesson == "Write to ann@acme.example."
    (live,), _ = ask_all(settings, [question()], answers=answers, tape=Tape(tmp_path / "tape"))
    replay = Tape(tmp_path / "tape", replays=True)
    (again,), _ = ask_all(LlmSettings(**NOWHERE), [question()], tape=replay)
    assert live.value.lesson == again.value.lesson == "Write to <email-1>."
    assert llm_server.counts["extract"] == 2


def test_nothing_to_replay_and_nowhere_to_record(tmp_path):
    with pytest.raises(UsageError, match="there is no recording in"):
        Tape(tmp_path / "none", replays=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(RepositoryError, match="file"):
        Tape(tmp_path / "file")


def test_a_disk_that_says_no_ends_the_run_not_the_recording(llm_server, tmp_path):
    llm_server.on("extract", GOOD)
    tape = Tape(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(RepositoryError, match="extract-"):
        ask_all(settings_of(llm_server), [question()], tape=tape)


def test_an_answer_that_cannot_be_recorded_is_paid_for_all_the_same(llm_server, tmp_path):
    llm_server.on("extract", GOOD)
    settings = settings_of(llm_server)
    budget = Budget(settings)
    tape = Tape(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    async def run():
        async with open_asker(settings, tape=tape, budget=budget) as asker:
            for text in ("talk 1", "talk 2"):
                with pytest.raises(RepositoryError, match="extract-"):
                    await asker.ask(question(text))

    asyncio.run(run())
    assert budget.total.calls == 1
    assert llm_server.counts["extract"] == 1  # nothing is asked that cannot be recorded either


def test_a_success_takes_the_place_of_a_failure(llm_server, tmp_path):
    llm_server.on("extract", [Fault("status", 500), GOOD])
    for _ in range(2):
        ask_all(settings_of(llm_server), [question()], tape=Tape(tmp_path))
    (file,) = tmp_path.iterdir()
    assert "reply" in json.loads(file.read_text())


def test_tool_calls_read_back(tmp_path, llm_server):
    llm_server.on("act", Reply(None, [("look", {"id": 1})]))

    async def look(settings: LlmSettings, tape: Tape) -> ChatReply:
        said = Message(role="system", content="Stage: act\n\nDo.")
        request = ChatRequest(stage="act", about="", model="scripted", messages=(said,), max_tokens=9)
        async with open_asker(settings, tape=tape) as asker:
            return (await asker.converse(request))[0]

    live = asyncio.run(look(settings_of(llm_server), Tape(tmp_path)))
    assert live == asyncio.run(look(LlmSettings(**NOWHERE), Tape(tmp_path, replays=True)))
    assert live.tool_calls == (ToolCall(id="call_0", name="look", arguments='{"id": 1}'),)


def test_embeddings_read_back(tmp_path):
    tape = Tape(tmp_path)
    tape.keep_vector(text_key("m", "a text"), [0.5, -1.0])
    tape.keep_vector(text_key("m", "a text"), [9.0, 9.0])
    replay = Tape(tmp_path, replays=True)
    assert asyncio.run(replay.embed(["a text"], "m")) == [(0.5, -1.0)]
    for text, model in (("another", "m"), ("a text", "other")):
        with pytest.raises(AskError, match="has no embedding") as caught:
            asyncio.run(replay.embed([text], model))
        assert caught.value.fault == "replay"
    assert "a text" not in next(tmp_path.iterdir()).read_text()


def test_a_replay_has_the_answers_that_the_budget_had(llm_server, tmp_path):
    llm_server.on("extract", GOOD)
    asked = [question(f"talk {n}") for n in range(4)]
    limits = {"max_tokens_per_run": 450, "parallel": 1}
    live, _ = ask_all(settings_of(llm_server, **limits), asked, tape=Tape(tmp_path))
    again, _ = ask_all(LlmSettings(**NOWHERE, **limits), asked, tape=Tape(tmp_path, replays=True))
    failed = [isinstance(result, AskError) for result in live]
    assert True in failed
    assert False in failed
    assert [isinstance(result, AskError) for result in again] == failed
    assert {r.fault for r in again if isinstance(r, AskError)} == {"budget"}


def test_a_second_answer_that_is_not_on_the_tape_is_a_miss(llm_server, tmp_path):
    """A first answer that could be used in part is none of the run that was recorded."""
    llm_server.on("extract", [poor(), GOOD])
    asked = replace(
        question(), check=lambda lesson: () if lesson == Lesson(**GOOD) else ("poor",), stands=anything
    )
    ask_all(settings_of(llm_server), [asked], tape=Tape(tmp_path))
    first, second = sorted(
        tmp_path.iterdir(), key=lambda f: len(json.loads(f.read_text())["request"]["messages"])
    )
    second.unlink()
    assert first.exists()
    (result,), _ = ask_all(LlmSettings(**NOWHERE), [asked], tape=Tape(tmp_path, replays=True))
    assert result.fault == "replay"


def test_an_endpoint_without_embeddings_has_none_in_the_replay(llm_server, tmp_path):
    async def look(settings: LlmSettings, tape: Tape):
        async with open_asker(settings, tape=tape) as asker:
            with pytest.raises(AskError) as caught:
                await asker.vectors.embed(["a text"], "m")
            return caught.value.fault, asker.vectors.why_not, asker.missed

    settings = replace(settings_of(llm_server), embedding_model="m")
    live = asyncio.run(look(settings, Tape(tmp_path)))
    nowhere = LlmSettings(**NOWHERE, embedding_model="m")
    assert asyncio.run(look(nowhere, Tape(tmp_path, replays=True))) == live
    assert live[0] == "http"
    (tmp_path / "empty").mkdir()
    fault, _, missed = asyncio.run(look(nowhere, Tape(tmp_path / "empty", replays=True)))
    assert fault == missed.fault == "replay"


def test_a_recording_keeps_the_salt_of_the_store_that_was_recorded_first(tmp_path):
    tape = Tape(tmp_path / "tape")
    assert [tape.salt("one"), tape.salt("two"), Tape(tmp_path / "tape").salt("three")] == ["one"] * 3
    assert Tape(tmp_path / "tape", replays=True).salt("four") == "one"
    (tmp_path / "old").mkdir()
    assert Tape(tmp_path / "old", replays=True).salt("mine") == "mine"
