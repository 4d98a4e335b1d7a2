import pytest

from tests.recordings import answers, claude, entry, uses
from trainer.importers.claude_code import entry as kept
from trainer.importers.claude_code import is_entry, is_injected, is_known


def made(*args, **more):
    return kept(entry(*args, **more), ("f", 1), 0)


@pytest.mark.parametrize(
    ("record", "theirs"),
    [
        *((row, True) for row in claude()),
        ({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}, True),
        ({"type": "brand-new", "uuid": "u", "sessionId": "s", "parentUuid": "p"}, True),
        ({"type": "brand-new", "uuid": "u", "sessionId": "s"}, False),
        ({"type": "user", "message": {"role": "user", "content": "x"}}, False),
        ({"messages": [], "type": "summary"}, False),
        ({"type": ["user"], "uuid": "u", "sessionId": "s"}, False),
    ],
)
def test_whose_line_it_is(record, theirs):
    assert is_entry(record) is theirs


def test_types_and_versions_that_are_known():
    assert is_known(entry("a", None, "user", "x"))
    assert not is_known({**entry("a", None, "user", "x"), "version": "3.0.0"})
    assert not is_known({**entry("a", None, "user", "x"), "type": "brand-new"})


def test_calls_answers_and_text():
    asks = made("a", None, "assistant", [{"type": "text", "text": "x"}, uses("t1", a=1), uses("t2")])
    assert asks.calls == {"t1": {"a": 1}, "t2": {}}
    given = made("b", "a", "user", [answers("t1", "x"), answers("t2", "y")])
    assert given.answers == ["t1", "t2"]
    assert made("a", None, "user", [{"type": "text", "text": "x"}]).text == "x"
    assert kept({"type": "summary", "summary": "x"}, ("f", 1), 0) is None


@pytest.mark.parametrize(
    ("content", "more", "put_in"),
    [
        ("hello", {}, False),
        ("hello", {"isMeta": True}, True),
        ("what was before", {"isCompactSummary": True}, True),
        ("<local-command-stdout>x</local-command-stdout>", {}, True),
        ("<command-name>/cost</command-name>", {}, True),
        ("<div> is a tag", {}, False),
    ],
)
def test_what_nobody_typed(content, more, put_in):
    assert is_injected(made("a", None, "user", content, **more)) is put_in


@pytest.mark.parametrize(("name", "begins_anew"), [("clear", True), ("cost", False)])
def test_a_conversation_that_is_cleared(name, begins_anew):
    assert made("a", None, "user", f"<command-name>/{name}</command-name>").is_clear is begins_anew
