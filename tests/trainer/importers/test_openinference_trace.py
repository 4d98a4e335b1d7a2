import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.recordings import lines, openinference, otlp, span, span_id, spoken
from trainer.importers import Reading, joining, read_rollouts
from trainer.importers.atif import SIDE, TASK
from trainer.importers.form import Flaw
from trainer.importers.jsontext import RecordError
from trainer.importers.openinference_trace import Traces, read
from xpstore.errors import UsageError

ASKED = [("user", "Go.", (), "")]


def answer(text, *calls):
    return ("assistant", text, calls, "")


def llm(name, parent, at, told, said, **more):
    return span(name, "LLM", parent, at, **spoken("input", told), **spoken("output", [said]), **more)


def found(spans):
    return [one for one in read({"spans": spans}) if not isinstance(one, Flaw)]


def said(rollout):
    return [
        (m.role, m.text, [(t.tool_name, t.tool_output, t.tool_status) for t in m.tools])
        for m in rollout.messages
    ]


def test_a_trace_is_a_rollout():
    (one,) = found(openinference())
    assert said(one.rollout) == [
        ("system", "Be good.", []),
        ("user", "Refund R1.", []),
        ("assistant", "I look.", [("get_order", '{"opened": true}', "completed")]),
        ("assistant", "", [("refund", "it was opened", "error")]),
    ]
    assert one.rollout.metadata == {
        "source": "OpenInference",
        "traces": ["7b" * 16],
        "model": "m",
        "errors": ["t2: it was opened"],
    }
    assert one.rollout.case.input == {"user_query": "Refund R1."}
    assert (one.keys, one.rollout.evaluation) == (("7b" * 16, span_id("agent")), None)


def test_attempts_at_the_same_task_share_their_case():
    one, two = found([*openinference(), *openinference("8c" * 16)])
    assert one.rollout.case == two.rollout.case
    assert one.rollout.id != two.rollout.id


def test_traces_of_a_session_are_one_rollout():
    turns = [
        llm(
            "a",
            None,
            5,
            [*ASKED, answer("1"), ("user", "More.", (), "")],
            answer("2"),
            trace="b",
            session__id="s",
        ),
        llm("a", None, 1, ASKED, answer("1"), trace="a", session__id="s"),
        llm("a", None, 9, [("user", "End.", (), "")], answer("3"), trace="c", gen_ai__conversation__id="s"),
        llm("a", None, 3, ASKED, answer("other"), trace="d"),
    ]
    session, alone = found(turns)
    assert [text for _, text, _ in said(session.rollout)] == ["Go.", "1", "More.", "2", "End.", "3"]
    assert session.keys == ("s", "a", "b", "c", span_id("a"))
    assert (session.rollout.metadata["session"], alone.keys) == ("s", ("d", span_id("a")))


def test_side_agents_speak_where_they_were_called():
    calls = answer("I ask.", ("c1", "expert", {}))
    told = [*ASKED, calls, ("tool", "42", (), "c1")]
    spans = [
        span("top", "AGENT", None, 0),
        llm("m1", "top", 1, ASKED, calls),
        span("run", "TOOL", "top", 3, tool__name="expert", output__value="42"),
        span("expert", "AGENT", "run", 3),
        llm(
            "e1",
            "expert",
            4,
            [("system", "Count.", (), ""), ("user", "How many?", (), "")],
            answer("", ("x", "sum", {})),
        ),
        span("sum", "TOOL", "expert", 5, tool__name="sum", failed="no numbers"),
        span("inside", "TOOL", "sum", 5, tool__name="adder", output__value="0"),
        llm("m2", "top", 8, told, answer("42.")),
    ]
    (one,) = found(spans)
    assert said(one.rollout) == [
        ("user", "Go.", []),
        ("assistant", "I ask.", [("expert", "42", "completed")]),
        (TASK, "Count.", []),
        (TASK, "How many?", []),
        (SIDE, "", [("sum", "no numbers", "error")]),
        ("assistant", "42.", []),
    ]


def test_agents_that_hand_over_are_one_conversation():
    spans = [
        span("flow", "AGENT", None, 0),
        span("first", "AGENT", "flow", 1),
        span("second", "AGENT", "flow", 5),
        llm("m1", "first", 1, [("system", "Sort.", (), ""), *ASKED], answer("", ("h", "hand_over", {}))),
        span("hand", "TOOL", "first", 3, tool__name="hand_over", output__value="second"),
        llm(
            "m2",
            "second",
            6,
            [
                ("system", "Solve.", (), ""),
                *ASKED,
                answer("", ("h", "hand_over", {})),
                ("tool", "second", (), "h"),
            ],
            answer("Done."),
        ),
    ]
    (one,) = found(spans)
    assert [(role, text) for role, text, _ in said(one.rollout)] == [
        ("system", "Sort."),
        ("user", "Go."),
        ("assistant", ""),
        ("system", "Solve."),
        ("assistant", "Done."),
    ]


def test_what_judges_and_what_is_recorded_twice_is_no_part_of_the_conversation():
    spans = [
        *openinference(),
        llm("twice", "llm0", 1, [("user", "Refund R1.", (), ""), ("user", "?", (), "")], answer("I look.")),
        span(
            "correctness",
            "EVALUATOR",
            "agent",
            15,
            output__value='{"score": 0, "explanation": "It was not due."}',
        ),
        llm("judge", "correctness", 16, [("user", "Is it right?", (), "")], answer("no")),
        span("search", "RETRIEVER", "agent", 2, input__value="x"),
        span("other", "SOMETHING", "agent", 2, input__value="x"),
    ]
    (one,) = found(spans)
    assert said(one.rollout) == said(found(openinference())[0].rollout)
    evaluation = one.rollout.evaluation
    assert (evaluation.passed, evaluation.feedback) == (False, ("correctness: It was not due.",))
    assert [c.name for c in one.rollout.case.rubric.criteria] == ["correctness"]
    assert one.rollout.metadata["evaluations"] == [
        {"name": "correctness", "score": 0, "explanation": "It was not due."}
    ]


def test_the_outermost_agent_is_judged_below_a_request_too():
    spans = openinference(eval__correctness__score=1)
    spans[-1] = {**spans[-1], "parent_id": span_id("GET")}
    inner = span("inner", "CHAIN", "agent", 2, eval__success__label="fail")
    for before in ([], [span("GET", "", None, 0)]):
        (one,) = found([*before, *spans, inner])
        assert [r.criterion_name for r in one.rollout.evaluation.criterion_results] == ["correctness"]
        assert (one.rollout.evaluation.passed, one.keys[-1]) == (True, span_id("agent"))


def test_an_evaluation_that_does_not_say_what_is_good_is_told_and_kept():
    judged = {"eval__hallucination__score": 1, "eval__hallucination__label": "hallucinated"}
    told = list(read({"spans": [*openinference(**judged), *openinference("8c" * 16, **judged)]}))
    flaws = [one for one in told if isinstance(one, Flaw)]
    assert [(one.kind, "'hallucination'" in one.why) for one in flaws] == [("warning", True)]
    assert told[-1].rollout.evaluation is None
    assert told[-1].rollout.metadata["evaluations"][0]["label"] == "hallucinated"


def test_without_a_model_the_root_says_what_was_asked():
    spans = [
        span("flow", "CHAIN", None, 0, lasts=9, input__value="Go.", output__value="Done."),
        span("t", "TOOL", "flow", 1, tool__name="walk", input__value='{"to": 1}', output__value="ok"),
        span("t2", "TOOL", "t", 1, tool__name="step", output__value="ok"),
    ]
    (one,) = found(spans)
    assert said(one.rollout) == [
        ("user", "Go.", []),
        ("assistant", "", [("walk", "ok", "completed")]),
        ("assistant", "Done.", []),
    ]


def test_other_traces_are_told_of_once(tmp_path):
    web = [span("GET /", "", None, 0, trace=f"{n}") for n in range(3)]
    (tmp_path / "a").write_text(lines([*web, *openinference()]))
    result = read_rollouts([tmp_path / "a"])
    assert len(result.rollouts) == 1
    assert [(p.line, p.why[:13]) for p in result.problems] == [(1, "3 traces hold")]
    with pytest.raises(RecordError, match="the trace holds no span of a model"):
        list(read(web[0]))


def test_spans_that_are_each_others_parents_or_have_none():
    circle = [span("a", "AGENT", "b"), span("b", "TOOL", "a"), llm("m", "a", 1, ASKED, answer("1"))]
    assert [text for _, text, _ in said(found(circle)[0].rollout)] == ["", "Go.", "1"]
    chain = [span(f"c{n}", "CHAIN", f"c{n + 1}") for n in range(3000)]
    assert len(found([*chain, llm("m", "c0", 1, ASKED, answer("1"))])) == 1
    lost = found([span("x", "LLM", "gone", 1, **spoken("output", [answer("1")]))])
    assert [text for _, text, _ in said(lost[0].rollout)] == ["1"]


def test_a_span_that_comes_twice_counts_once():
    assert found(openinference() * 2)[0].rollout == found(openinference())[0].rollout


def test_spans_of_a_trace_in_several_files(tmp_path):
    spans = openinference()
    (tmp_path / "a").write_text(lines(spans[3:]))
    (tmp_path / "b").write_text(json.dumps(otlp(spans[:3])))
    result = read_rollouts([tmp_path / "a", tmp_path / "b"], Reading("openinference"))
    assert [r.id for r in result.rollouts] == [found(spans)[0].rollout.id]
    with pytest.raises(UsageError, match="but one of openinference"):
        read_rollouts([tmp_path / "a"], Reading("atif"))


def test_messages_that_are_repeated_are_held_once(tmp_path, monkeypatch):
    traces = Traces()
    told = [("user", "x" * 1000, (), "")]
    for number in range(50):
        traces.add(llm(f"m{number}", None, 1, told, answer("y")), ("f", number))
    assert traces.size < 20_000
    monkeypatch.setattr(joining, "HELD", 10)
    (tmp_path / "a").write_text(lines(openinference()))
    result = read_rollouts([tmp_path / "a"])
    assert len(result.rollouts) > 1
    assert ["several rollouts" in p.why for p in result.remarks] == [True]


SPANS = openinference()
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(), max_size=8),
    st.sampled_from(["", "0x", "7b" * 16, "LLM", "TOOL", "ERROR", "[{}]", '{"score": 1}', "9" * 400]),
    st.just([{"message.role": {}, "message.tool_calls": [{"tool_call.function.name": "\0"}]}]),
    st.dictionaries(st.sampled_from(["0", "1", "a.b", "", ".", "message.0"]), st.integers(), max_size=3),
)
KEYS = sorted({key for one in SPANS for key in one["attributes"]})
PLACES = st.sampled_from(
    [("parent_id",), ("start_time",), ("end_time",), ("status",), ("events",), ("annotations",), ("name",)]
    + [("context", "span_id"), ("context", "trace_id"), ("attributes",)]
    + [("attributes", key) for key in [*KEYS, "eval.x.score", "session.id", "gen_ai.input.messages"]]
)


def put(one, path, value):
    head, *rest = path
    inner = one.get(head)
    return {**one, head: put(inner, rest, value) if rest and isinstance(inner, dict) else value}


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 4), PLACES, ODD), min_size=1, max_size=5))
def test_hostile_values_give_rollouts_or_are_told(changes):
    spans = list(SPANS)
    for at, path, value in changes:
        spans[at] = put(spans[at], path, value)
    with suppress(RecordError):  # nothing else may be raised
        for one in read({"spans": spans}):
            if not isinstance(one, Flaw):
                assert one.rollout.id
                assert one.rollout.messages
