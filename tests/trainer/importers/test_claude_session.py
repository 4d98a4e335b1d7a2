import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.recordings import answers, claude, entry, uses
from trainer.importers.atif import SIDE, TASK
from trainer.importers.claude_session import Sessions


def conversations(*rows):
    sessions = Sessions()
    for number, row in enumerate(rows, start=1):
        sessions.add(row, "f", number)
    return [found for _, found in sessions.conversations()]


def said(found):
    return [(m.role, m.text) for m in found.rollout.messages]


def results(found):
    return [(t.tool_id, t.tool_output, t.tool_status) for m in found.rollout.messages for t in m.tools]


def text(value):
    return [{"type": "text", "text": value}]


def test_a_session_is_one_rollout():
    (found,) = conversations(*claude())
    assert said(found) == [
        ("user", "Read the file."),
        ("assistant", "I read."),
        ("assistant", "It is not there."),
    ]
    assert results(found) == [("t1", "no such file", "error")]
    assert found.keys == ("s-1", "s-1-1")
    assert found.rollout.case.input == {"user_query": "Read the file."}
    about = {key: found.rollout.metadata[key] for key in ("sessions", "model", "version", "gitBranch")}
    assert about == {"sessions": ["s-1"], "model": "claude", "version": "2.0.76", "gitBranch": "main"}
    assert "/home/pat" not in found.rollout.model_dump_json()


def test_a_resumed_session_goes_on_also_where_its_beginning_was_copied():
    first = claude("a")
    copied = [{**row, "sessionId": "b"} for row in first[1:]]
    more = entry("b-9", "a-4", "user", "Make it, then.", "b")
    (found,) = conversations(*first, *copied, more)
    assert [t for _, t in said(found)] == ["Read the file.", "I read.", "It is not there.", "Make it, then."]
    assert found.keys == ("a", "b", "a-1")


def test_two_sessions_are_two_rollouts():
    assert [found.keys[0] for found in conversations(*claude("a"), *claude("b"))] == ["a", "b"]


def test_a_compacted_session_is_one():
    boundary = {
        **entry("c", None, "system", "x"),
        "subtype": "compact_boundary",
        "logicalParentUuid": "s-1-4",
    }
    summary = entry("d", "c", "user", "What was said before: …", isCompactSummary=True)
    (found,) = conversations(*claude(), boundary, summary, entry("e", "d", "user", "Go on."))
    assert said(found)[-2:] == [("system", "What was said before: …"), ("user", "Go on.")]
    assert found.rollout.metadata["compacted"] == 1


def test_clear_begins_another_conversation():
    cleared = entry("c", "s-1-4", "user", "<command-name>/clear</command-name>")
    first, second = conversations(*claude(), cleared, entry("d", "c", "user", "Something else."))
    assert (first.keys[0], second.keys[0]) == ("s-1#1", "s-1#2")
    assert said(second) == [("user", "Something else.")]
    assert len(conversations(*claude(), cleared)) == 1


def test_what_was_taken_back_is_left_out():
    edited = entry("z", None, "user", "Read the other file.")
    (found,) = conversations(
        entry("a", None, "user", "Hello."),
        entry("b", "a", "assistant", text("Hi.")),
        entry("c", "b", "user", "Read teh file."),
        entry("d", "c", "assistant", text("teh?")),
        {**edited, "parentUuid": "b"},
    )
    assert [t for _, t in said(found)] == ["Hello.", "Hi.", "Read the other file."]
    assert found.rollout.metadata["taken_back"] == 2


def test_parallel_calls_of_one_answer_are_together_with_their_results():
    (found,) = conversations(
        entry("a", None, "user", "Read both."),
        entry("b1", "a", "assistant", text("Both."), message_id="m"),
        entry("b2", "b1", "assistant", [uses("t1")], message_id="m"),
        entry("b3", "b2", "assistant", [uses("t2")], message_id="m"),
        entry("r1", "b2", "user", [answers("t1", "one")]),
        entry("r2", "b3", "user", [answers("t2", "two")]),
        entry("e", "r2", "assistant", text("Done.")),
    )
    assert said(found) == [("user", "Read both."), ("assistant", "Both."), ("assistant", "Done.")]
    assert results(found) == [("t1", "one", "completed"), ("t2", "two", "completed")]
    (found,) = conversations(
        entry("a", None, "user", "Read both."),
        entry("b1", "a", "assistant", [uses("t1")], message_id="m"),
        entry("b2", "b1", "assistant", [uses("t2")], message_id="m"),
        entry("r2", "b2", "user", [answers("t2", "two")]),
        entry("r1", "b1", "user", [answers("t1", "one")]),
    )
    assert sorted(results(found)) == [("t1", "one", "completed"), ("t2", "two", "completed")]


def side(agent, prompt, at="x", **more):
    about = {"isSidechain": True, **more} | ({"agentId": agent} if agent else {})
    return [
        entry(f"{at}-1", None, "user", prompt, **about),
        entry(f"{at}-2", f"{at}-1", "assistant", [*text("I look."), uses(f"{at}-t", "Bash")], **about),
        entry(f"{at}-3", f"{at}-2", "user", [answers(f"{at}-t", "src")], **about),
        entry(f"{at}-4", f"{at}-3", "assistant", text("There is src."), **about),
    ]


@pytest.mark.parametrize("agent", ["", "a1"])
def test_a_side_agent_speaks_where_it_was_called(agent):
    called = entry("b", "a", "assistant", [uses("t1", "Task", prompt="Look around.")])
    result = entry("c", "b", "user", [answers("t1", "There is src.")])
    result |= {"toolUseResult": {"agentId": agent}} if agent else {}
    told = "Look around." if not agent else "Something else."
    end = entry("d", "c", "assistant", text("src it is."))
    rows = [entry("a", None, "user", "What is here?"), called, result, end]
    (found,) = conversations(*side(agent, told), *rows)
    assert said(found) == [
        ("user", "What is here?"),
        ("assistant", ""),
        (TASK, told),
        (SIDE, "I look."),
        (SIDE, "There is src."),
        ("assistant", "src it is."),
    ]
    assert [(i, output) for i, output, _ in results(found)] == [("t1", "There is src."), ("x-t", "src")]


def test_a_side_agent_whose_session_was_not_given_stands_alone():
    (found,) = conversations(*side("a1", "Look around."))
    assert found.keys == ("a1", "x-1")
    assert said(found)[0] == (TASK, "Look around.")
    (found,) = conversations(*claude(), *side("", "Nobody asked for this."))
    assert said(found)[-1] == (SIDE, "There is src.")


def test_parents_in_a_circle_end():
    rows = [entry("a", "b", "user", "x"), entry("b", "a", "assistant", text("y"))]
    (found,) = conversations(*rows)
    assert len(found.rollout.messages) == 2


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans(), st.integers(0, 2)), max_size=8)
)
@settings(max_examples=60, deadline=None)
def test_any_tree_gives_every_typed_message_at_most_once(rows):
    entries = [
        entry(
            f"u{n}",
            f"u{parent}",
            ("user", "assistant")[n % 2],
            text(f"text {n}"),
            f"s{session}",
            isSidechain=is_side,
        )
        for n, parent, is_side, session in rows
    ]
    texts = [t for found in conversations(*entries) for _, t in said(found)]
    assert len(texts) == len(set(texts))
