import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.domain import Case, CriterionResult, Rubric, RubricCriterion, RubricEvaluation
from trainer.importers.jsontext import MAX_TEXT
from trainer.remote.session_case import (
    CASE_HEADER,
    INPUT_KEYS,
    LABEL_KEYS,
    NO_CRITERIA,
    OUTCOME_HEADER,
    PROTOCOL,
    as_speech,
    parse_case_spec,
    parse_outcome,
    render_case_spec,
    render_outcome,
    trimmed,
)
from xpstore.errors import FormatError

NASTY = st.sampled_from(
    ["```", "\n```json\n{}\n```", "-->", "\u2028", "\x85", "\ud800", "{", '"', "\\", "\r\n"]
)
TEXT = st.lists(st.text(max_size=8) | NASTY, max_size=4).map("".join)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
METADATA = st.dictionaries(st.sampled_from(["dataset", "split", "policy", "note"]), JSON, max_size=2)
CRITERIA = st.builds(
    RubricCriterion,
    name=TEXT,
    description=TEXT,
    required=st.booleans(),
    weight=st.floats(0, 4),
    metadata=METADATA,
)
CASES = st.builds(
    Case,
    name=TEXT.filter(str.strip),
    task_signature=TEXT,
    input=st.dictionaries(st.sampled_from([*INPUT_KEYS, *LABEL_KEYS, "policy"]) | TEXT, JSON, max_size=4),
    rubric=st.builds(
        Rubric,
        name=TEXT,
        description=TEXT,
        criteria=st.lists(CRITERIA, max_size=2).map(tuple),
        metadata=METADATA,
    ),
    metadata=METADATA,
)
LINES = st.lists(TEXT, max_size=2).map(tuple)
RESULTS = st.builds(
    CriterionResult,
    criterion_name=TEXT,
    passed=st.booleans(),
    score=st.floats(0, 1),
    feedback=LINES,
    evidence=LINES,
)
EVALUATIONS = st.builds(
    RubricEvaluation,
    passed=st.booleans(),
    score=st.floats(0, 1),
    criterion_results=st.lists(RESULTS, max_size=2).map(tuple),
    feedback=LINES,
)


def block(text: str) -> dict:
    """Return the JSON of a message as a reader finds it that knows nothing but fences."""
    lines = text.splitlines()
    first = lines.index("```json")
    return json.loads("\n".join(lines[first + 1 : lines.index("```", first)]))


def spec(case: object, protocol: str = PROTOCOL) -> str:
    return f"{CASE_HEADER}\n\n```json\n{json.dumps({'protocol': protocol, 'case': case})}\n```"


CASE = Case(
    name="refund_7",
    task_signature="desk:refund",
    input={
        "domain": "desk",
        "split": "train",
        "data_split": "train",
        "task_id": "7",
        "task_no": 7,
        "user_query": "refund order 7",
        "ground_truth": "no refund",
        "expected_actions": [{"name": "look_up", "arguments": {}}],
        "policy": "the whole handbook",
        "data_root": "/srv/data",
        "rollout_metadata": {"seed": 3},
        "policy_snapshot_id": "0f0f",
        "evaluation": {"passed": False},
    },
    rubric=Rubric(
        name="refund_rubric",
        criteria=(RubricCriterion(name="refused", metadata={"expected": "refuse"}),),
        metadata={"database": "after"},
    ),
    metadata={"dataset": "desk", "api_key": "of the environment", "evaluation": {"passed": False}},
)


@given(CASES, st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_case_comes_back_as_it_was_trimmed(case, ground_truth):
    text = render_case_spec(case, ground_truth=ground_truth)
    told = trimmed(case, ground_truth=ground_truth)
    text.encode()
    assert parse_case_spec(text) == told
    assert parse_case_spec(render_case_spec(told, ground_truth=ground_truth)) == told
    assert block(text)["case"] == told.model_dump(mode="json")
    assert text.count("```") == 2
    assert "-->" not in text
    assert parse_outcome(text) is None


@given(EVALUATIONS)
@settings(max_examples=30, deadline=None)
def test_an_evaluation_comes_back(evaluation):
    text = render_outcome(evaluation)
    text.encode()
    read = parse_outcome(text)
    assert read is not None
    assert parse_outcome(render_outcome(read)) == read
    assert (read.passed, read.score) == (evaluation.passed, evaluation.score)
    assert block(text)["evaluation"] == read.model_dump(mode="json")
    assert text.count("```") == 2
    assert parse_case_spec(text) is None


def test_what_is_sent_of_a_case_is_what_the_rfc_lists():
    told = trimmed(CASE)
    assert set(told.input) == set(INPUT_KEYS)
    assert told.metadata == {"dataset": "desk"}
    assert told.rubric.metadata == told.rubric.criteria[0].metadata == {}
    text = render_case_spec(CASE)
    for secret in (
        "no refund",
        "look_up",
        "handbook",
        "/srv",
        "0f0f",
        "seed",
        "expected",
        "api_key",
        "passed",
    ):
        assert secret not in text


def test_labels_go_along_where_somebody_says_so():
    told = trimmed(CASE, ground_truth=True)
    assert set(told.input) == {*INPUT_KEYS, *LABEL_KEYS}
    assert told.rubric.metadata == CASE.rubric.metadata
    assert told.rubric.criteria[0].metadata == CASE.rubric.criteria[0].metadata
    assert told.metadata == {"dataset": "desk"}


def test_a_report_of_the_environment_is_no_part_of_an_outcome_unless_asked_for():
    evaluation = RubricEvaluation(
        passed=False,
        score=0.5,
        criterion_results=(
            CriterionResult(
                criterion_name="refused", passed=False, score=0.5, evidence=("refund 7",), metadata={"db": 1}
            ),
        ),
        feedback=("refunded",),
        metadata={"expected": "no refund"},
    )
    read = parse_outcome(render_outcome(evaluation))
    assert read is not None
    assert read.metadata == read.criterion_results[0].metadata == {}
    assert read.criterion_results[0].evidence == ("refund 7",)
    assert parse_outcome(render_outcome(evaluation, ground_truth=True)) == evaluation


@pytest.mark.parametrize(
    "text",
    [
        "",
        "please refund order 7",
        f"see {CASE_HEADER}",
        f"{CASE_HEADER}x",
        "# OpenViking",
        f"> {CASE_HEADER}\n```json\n{{}}\n```",
        f"#{OUTCOME_HEADER}",
    ],
)
def test_other_text_is_neither(text):
    assert parse_case_spec(text) is None
    assert parse_outcome(text) is None
    assert as_speech(text) == text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (CASE_HEADER, "no block of JSON"),
        (f"{CASE_HEADER}\n```json\n{{", "not valid JSON"),
        (f"{CASE_HEADER}\n```json\n{{}}", "does not end after its value"),
        (f"{CASE_HEADER}\n```json\n{{}} {{}}\n```", "does not end after its value"),
        (f"{CASE_HEADER}\n```json\n[]\n```", "the block is not a JSON object"),
        (f"{CASE_HEADER}\n```json\n{'[' * 9999}\n```", "nested deeper"),
        (f'{CASE_HEADER}\n```json\n{{"protocol": NaN}}\n```', "nan is not a number"),
        (spec({}, "other.v1"), "protocol 'other.v1'"),
        (spec({}), "case: name: Field required"),
        (spec([]), "case is not a JSON object"),
        (spec({"name": " ", "rubric": {"name": "r"}}), "has no name"),
        (spec({"name": "a", "rubric": {"name": "r", "criteria": [{"weight": 1}]}}), r"criteria\.0\.name"),
        ("# OpenViking Batch Training CaseSpec v2\n", "version 2; this program reads version 1"),
        ("# OpenViking Batch Training CaseSpec\n", "version none"),
    ],
)
def test_a_malformed_case_spec_says_what_is_wrong(text, why):
    with pytest.raises(FormatError, match=why):
        parse_case_spec(f"\ufeff\n {text}")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (OUTCOME_HEADER, "no block of JSON"),
        (f"{OUTCOME_HEADER}\n```json\n{{}}\n```", "OutcomeEvaluation is not a JSON object"),
        (f'{OUTCOME_HEADER}\n```json\n{{"evaluation": {{"score": 1}}}}\n```', "passed: Field required"),
        (f'{OUTCOME_HEADER}\n```json\n{{"evaluation": {{"score": 1e999}}}}\n```', "inf is not a number"),
        ("# OpenViking OutcomeEvaluation v2", "version 2"),
    ],
)
def test_a_malformed_outcome_says_what_is_wrong(text, why):
    with pytest.raises(FormatError, match=why):
        parse_outcome(text)


def test_unknown_fields_and_prose_of_other_writers_are_left_out():
    case = {"name": "a", "rubric": {"name": "r", "criteria": [{"name": "c", "new": 1}], "new": 1}, "new": 1}
    assert parse_case_spec(spec(case).replace("\n", "\r\n") + "\n\nThank you.") == Case(
        name="a", rubric=Rubric(name="r", criteria=(RubricCriterion(name="c"),))
    )


def test_what_openviking_wants_to_be_there_is_filled_in():
    told = trimmed(Case(name="a", rubric=Rubric(name="r")))
    assert told.task_signature == "a"
    assert told.rubric.criteria == (NO_CRITERIA,)
    told = trimmed(Case(name="a", rubric=Rubric(name="r", criteria=(RubricCriterion(name="paid"),))))
    assert told.rubric.criteria[0].description == "paid"


def test_messages_without_a_fence_and_without_a_score_are_read():
    bare = spec({"name": "a", "rubric": {"name": "r"}}).replace("```json", "").replace("```", "")
    assert parse_case_spec(bare) == Case(name="a", rubric=Rubric(name="r"))
    assert parse_outcome(f'{OUTCOME_HEADER}\n\n```json\n{{"evaluation": null}}\n```') is None


def test_what_json_cannot_say_is_an_error_and_no_message():
    with pytest.raises(FormatError, match="nan is not a number"):
        render_outcome(RubricEvaluation(passed=True, score=float("nan")))
    with pytest.raises(FormatError, match="inf is not a number"):
        render_case_spec(CASE.model_copy(update={"input": {"task_no": float("inf")}}))


def test_a_huge_query_is_cut_in_the_middle():
    case = CASE.model_copy(update={"input": {"user_query": "a" * 5_000_000}})
    read = parse_case_spec(render_case_spec(case))
    assert read is not None
    assert len(str(read.input["user_query"])) == MAX_TEXT


@pytest.mark.parametrize(
    "text", [render_case_spec(CASE), f"\ufeff \n{OUTCOME_HEADER}\nx", f"{OUTCOME_HEADER} v9"]
)
def test_what_was_said_in_a_rollout_is_no_message_of_ours(text):
    said = as_speech(text)
    assert said == f"> {text.removeprefix(chr(0xFEFF)).lstrip()}"
    assert parse_case_spec(said) is None
    assert parse_outcome(said) is None
