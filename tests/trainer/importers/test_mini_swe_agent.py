import pytest

from tests.recordings import mini_swe_agent
from trainer.importers.form import Flaw
from trainer.importers.jsontext import RecordError
from trainer.importers.mini_swe_agent import matches, read


def only(record):
    (found,) = read(record)
    return found.rollout


def tools(rollout):
    return [
        (t.tool_input, t.tool_output.split("\n")[-2:-1], t.tool_status)
        for m in rollout.messages
        for t in m.tools
    ]


def test_a_command_and_what_follows_it():
    rollout = only(mini_swe_agent())
    assert [m.role for m in rollout.messages] == ["system", "user", *["assistant"] * 3, "user"]
    assert rollout.messages[2].text == "THOUGHT: so."
    assert [(given, status) for given, _, status in tools(rollout)] == [
        ({"command": "ls"}, "completed"),
        ({"command": "cat b"}, "error"),
    ]
    assert rollout.messages[-1].text == "Please give one command."
    assert rollout.metadata["exit_status"] == "Submitted"
    assert rollout.evaluation is None


def test_the_bare_list_of_older_versions():
    record = {"messages": mini_swe_agent()["messages"]}
    assert matches(record)
    assert len(tools(only(record))) == 2


def test_tool_calls_of_newer_versions():
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    messages = [
        {"role": "user", "content": "Solve it."},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [call],
            "extra": {"actions": [{"command": "ls"}]},
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": "<returncode>2</returncode>",
            "extra": {"returncode": 2},
        },
        {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted"}},
    ]
    rollout = only(mini_swe_agent(messages=messages, trajectory_format="mini-swe-agent-1.1"))
    assert [m.role for m in rollout.messages] == ["user", "assistant"]
    assert [status for _, _, status in tools(rollout)] == ["error"]


def test_the_end_is_the_result_of_the_last_command():
    messages = [*mini_swe_agent()["messages"][:3], {"role": "exit", "content": "diff"}]
    (tool,) = (t for m in only(mini_swe_agent(messages=messages)).messages for t in m.tools)
    assert (tool.tool_output, tool.tool_status) == ("diff", "completed")
    (tool,) = (t for m in only(mini_swe_agent(messages=messages[:3])).messages for t in m.tools)
    assert tool.tool_status == "pending"


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("<returncode>0</returncode>", "completed"),
        ("<returncode>-1</returncode>", "error"),
        ("The last command <command>x</command> timed out and has been killed.", "error"),
        ("", "completed"),
        ("Error: x", "error"),
    ],
)
def test_how_a_command_ended(result, status):
    messages = [*mini_swe_agent()["messages"][:3], {"role": "user", "content": result}]
    assert [found for _, _, found in tools(only(mini_swe_agent(messages=messages)))] == [status]


def test_two_commands_are_none():
    two = "```bash\nls\n```\n```bash\npwd\n```"
    messages = [{"role": "assistant", "content": two}, {"role": "user", "content": "One, please."}]
    rollout = only(mini_swe_agent(messages=messages))
    assert [(m.text, len(m.tools)) for m in rollout.messages] == [(two, 0), ("One, please.", 0)]


def test_versions_and_what_is_broken():
    flaw, _ = read(mini_swe_agent(trajectory_format="mini-swe-agent-9"))
    assert isinstance(flaw, Flaw)
    assert flaw.kind == "warning"
    with pytest.raises(RecordError, match="messages is empty"):
        list(read(mini_swe_agent(messages=[])))
    assert not matches({"messages": [{"role": "assistant", "content": "x"}]})
    assert not matches({"messages": 5, "info": {"mini_version": "1"}})
