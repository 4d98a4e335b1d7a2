import pytest

from trainer.importers.atif import SIDE, TASK
from trainer.importers.openinference_messages import ToolRun
from trainer.importers.openinference_talk import Said, Talk, as_side, with_blocks, with_tools


def m(text, role="user", *calls, **more):
    made = [{"id": key, "name": name, "arguments": given} for key, name, given in calls]
    return {"role": role, "content": text, **({"tool_calls": made} if made else {}), **more}


def a(text, *calls):
    return m(text, "assistant", *calls)


def result(text, key):
    return m(text, "tool", tool_call_id=key)


def run(name, output="", *, call="", given=None, failed=False, start=0, span=None):
    return ToolRun(name, call, given, output, failed, span or f"{name}{start}{output}", start)


def talk(*calls):
    """Return what (trace, given, answer) say, one second after the other."""
    found = Talk()
    for at, (trace, given, answer) in enumerate(calls):
        found.add(trace, at * 10, at * 10 + 5, given, answer)
    return found


def told(found):
    return [s.message["content"] for s in found.said()]


SYSTEM = m("Be good.", "system")


@pytest.mark.parametrize(
    ("calls", "texts", "branches"),
    [
        ([("t", [m("1")], [a("2")]), ("t", [m("1"), a(" 2\n"), m("3")], [a("4")])], "1234", 0),
        ([("t", [m("1")], []), ("t", [m("1"), a("2"), m("3")], [a("4")])], "1234", 0),
        ([("t", [m("1")], [a("2")]), ("t", [m("1")], [a("2")])], "12", 0),
        ([("t", [m("1"), a("2")], [a("3")]), ("t", [m("1")], [a("2")])], "123", 0),
        ([("t", [m("1")], [a("x")]), ("t", [m("1"), a("2"), m("3")], [a("4")])], "1234", 1),
        ([("t", [m("1"), a("2"), m("3")], [a("4")]), ("t", [m("1")], [a("x")])], "1234", 1),
        ([("t", [m("1")], [a("2")]), ("u", [m("1")], [a("3")])], "1213", 0),
        ([("t", [m("1")], [a("2")]), ("t", [m("3")], [a("4")])], "1234", 0),
        ([("t", [m("1"), a("2"), m("3")], [a("4")]), ("t", [m("3"), a("4"), m("5")], [a("6")])], "123456", 0),
        ([("t", [], [a("1")]), ("t", [], [])], "1", 0),
    ],
    ids=["goes on", "no answer", "again", "older", "retried", "title", "same", "new", "window", "alone"],
)
def test_calls_of_a_model_are_one_conversation(calls, texts, branches):
    found = talk(*calls)
    assert ["".join(told(found)).replace(" ", "").replace("\n", ""), found.branches] == [texts, branches]


def test_instructions_are_told_once_and_new_ones_where_they_came():
    other = m("Be quick.", "system")
    one = talk(("t", [SYSTEM, m("1")], [a("2")]), ("t", [other, m("1"), a("2"), m("3")], [a("4")]))
    assert told(one) == ["Be good.", "1", "2", "Be quick.", "3", "4"]
    assert told(talk(("t", [SYSTEM, m("1")], [a("2")]), ("u", [SYSTEM, m("3")], []))) == [
        "Be good.",
        "1",
        "2",
        "3",
    ]


def test_a_call_with_an_id_is_the_same_whatever_is_said_with_it():
    calls = [("c1", "walk", {"to": 1})]
    one = talk(
        ("t", [m("1")], [a("2", *calls)]), ("t", [m("1"), a("", *calls), result("ok", "c1")], [a("3")])
    )
    assert told(one) == ["1", "2", "ok", "3"]


def results(said, runs):
    return [
        (s.message["role"], s.message["content"], s.message.get("is_error"))
        for s in with_tools([Said(at * 10, one) for at, one in enumerate(said)], runs)
    ]


def test_runs_of_tools_answer_the_calls_that_nothing_answers():
    calls = [("c1", "get", {"id": 1}), ("c2", "get", {"id": 2}), ("c3", "end", {})]
    runs = [
        run("get", "two", given={"id": 2}),
        run("get", "one", given={"id": 1}),
        run("stop", "three", call="c3"),
    ]
    assert results([m("go"), a("I go", *calls), result("one", "c1")], runs) == [
        ("user", "go", None),
        ("assistant", "I go", None),
        ("tool", "two", False),
        ("tool", "three", False),
        ("tool", "one", None),
    ]


def test_an_error_of_a_run_is_one_of_the_result_in_the_messages():
    said = [a("", ("c1", "get", {})), result("no", "c1"), a("", ("c1", "get", {})), result("yes", "c1")]
    runs = [run("get", "no", failed=True, start=1), run("get", "yes", start=2)]
    assert [error for role, _, error in results(said, runs) if role == "tool"] == [True, None]


def test_by_order_only_where_no_run_is_missing():
    said = [a("", ("c1", "get", {"id": 1}), ("c2", "get", {"id": 2}))]
    odd = [run("get", "x", given={"input": "a"}), run("get", "y", given={"input": "b"})]
    assert results(said, odd)[1:] == [("tool", "x", False), ("tool", "y", False)]
    assert results(said, odd[1:])[1:] == []


def test_what_nobody_called_in_a_message_stands_where_it_ran():
    runs = [run("look", "late", start=99), run("look", "early", start=5, given={"at": 1})]
    found = results([m("go"), a("so"), a("end")], runs)
    assert [text for _, text, _ in found] == ["go", "", "early", "so", "end", "", "late"]


def test_blocks_stand_after_what_was_said_before():
    said = [Said(10, m("1")), Said(5, m("2")), Said(20, m("3"))]
    blocks = [(25, [Said(0, m("d"))]), (0, [Said(0, m("a"))]), (10, [Said(0, m("b")), Said(0, m("c"))])]
    assert [s.message["content"] for s in with_blocks(said, blocks)] == ["a", "1", "2", "b", "c", "3", "d"]
    assert [s.message["content"] for s in with_blocks([], blocks)] == ["a", "b", "c", "d"]


def test_side_agents_have_roles_of_their_own():
    roles = [
        s.message["role"] for s in as_side([Said(0, SYSTEM), Said(0, a("x")), Said(0, result("y", "c"))])
    ]
    assert roles == [TASK, SIDE, "tool"]
