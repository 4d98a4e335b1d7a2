import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.domain import (
    Case,
    CriterionResult,
    Message,
    Rollout,
    Rubric,
    RubricCriterion,
    RubricEvaluation,
    TextPart,
    ToolPart,
)
from trainer.importers import read_rollouts
from trainer.importers.openai_chat import read
from trainer.redaction import redact_rollout
from xpstore.hashing import canonical_json

DATA = Path(__file__).parents[3] / "shared" / "data" / "tau-bench" / "gpt-4o-airline.tasks-0-39.json"


def rollout(text, **more):
    arguments = json.dumps({"to": "a@example.com", "note": text})
    call = {"id": "1", "function": {"name": "send", "arguments": arguments}}
    messages = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": json.dumps({"sent": "a@example.com"})},
    ]
    return read({"messages": messages, "score": 1, **more})


def test_one_mask_per_value_in_every_place():
    redacted = redact_rollout(rollout("I am b@example.com, password=hunter2"))
    tool = redacted.tools[0]
    note = "I am <email-1>, password=<secret:password-1>"
    assert redacted.messages[0].text == redacted.case.input["user_query"] == note
    assert tool.tool_input == {"to": "<email-2>", "note": note}
    assert tool.tool_output == '{"sent": "<email-2>"}'
    assert redact_rollout(redacted) == redacted


def test_trials_of_a_case_keep_one_case():
    first = redact_rollout(rollout("I am b@example.com", case={"name": "c", "owner": "z@example.com"}))
    second = redact_rollout(
        rollout("I am z@example.com and c@example.com", case={"name": "c", "owner": "z@example.com"})
    )
    assert first.case == second.case
    assert first.case.input == {"owner": "<email-1>"}


def test_a_rollout_without_secrets_is_unchanged():
    plain = rollout("mia_li_3668 flies HAT136 on 2024-05-20 for $1,200")
    without_mail = plain.model_copy(update={"messages": plain.messages[:1]})
    assert redact_rollout(without_mail) == without_mail


TEXTS = st.text(st.sampled_from(["a", " ", "é", "\ud83d", "\ude00", "\udcff", "\U0001f600"]), max_size=6)


def everywhere(text):
    """Return a rollout with a text in every place that takes one."""
    wild = {"k": text, text: [text, {text: text}]}
    named = {"name": text, "description": text, "metadata": wild}
    criterion = CriterionResult(
        criterion_name=text, passed=True, score=1, feedback=(text,), evidence=(text,), metadata=wild
    )
    tool = ToolPart(tool_id=text, tool_name=text, tool_input=wild, tool_output=text)
    return Rollout(
        case=Case(
            name=text,
            task_signature=text,
            input=wild,
            rubric=Rubric(**named, criteria=(RubricCriterion(**named),)),
            metadata=wild,
        ),
        messages=(Message(role=text, parts=(TextPart(text=text), tool)),),
        policy_snapshot_id=text,
        evaluation=RubricEvaluation(
            passed=True, score=1, criterion_results=(criterion,), feedback=(text,), metadata=wild
        ),
        metadata=wild,
    )


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_what_no_file_can_hold_is_mended_everywhere(text):
    redacted = redact_rollout(everywhere(text))
    data = canonical_json(redacted.model_dump(mode="json"))
    assert Rollout.model_validate_json(data.decode()).id == redacted.id
    assert redact_rollout(redacted) == redacted
    if not any("\ud800" <= letter <= "\udfff" for letter in text):
        assert redacted == everywhere(text)


def test_half_a_character_becomes_one_sign_and_two_halves_one_character():
    made = redact_rollout(rollout("a\udcffb \ud83d\ude00"))
    assert made.messages[0].text == "a\ufffdb \U0001f600"


def test_an_escaped_half_in_json_does_not_come_out_of_redaction_raw():
    text = '{"é": "\\udcff b@example.com"}'
    assert redact_rollout(rollout(text)).messages[0].text == '{"é": "\ufffd <email-1>"}'


@pytest.mark.skipif(not DATA.is_file(), reason="the recorded tau-bench runs are not here")
def test_real_runs_lose_their_mail_addresses_and_nothing_else():
    rollouts = read_rollouts([DATA]).rollouts
    start = time.process_time()
    redacted = [redact_rollout(item) for item in rollouts]
    assert time.process_time() - start < 5
    before = json.dumps([item.model_dump(mode="json") for item in rollouts])
    after = json.dumps([item.model_dump(mode="json") for item in redacted])
    assert before.count("@") == after.count("<email-") > 100
    assert "<secret:" not in after
    assert all(f"<{kind}-" not in after for kind in ("phone", "card", "iban", "ssn", "cvv"))
    assert len({item.case.id for item in redacted}) == 40
    assert redact_rollout(redacted[0]) == redacted[0]
