"""Small recordings in the shapes of the programs that write them, made up."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import datetime
from pathlib import Path

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
"""Real recordings, where they lie beside the project; they are read in place and never copied."""


def step(source, message, calls=(), results=(), **more):
    made = [{"tool_call_id": i, "function_name": name, "arguments": given} for i, name, given in calls]
    value = {"step_id": 1, "source": source, "message": message, **more}
    value |= {"tool_calls": made} if made else {}
    return value | ({"observation": {"results": list(results)}} if results else {})


def atif(**more):
    listed = step(
        "agent",
        "I look.",
        [("c1", "bash", {"command": "ls"}), ("c2", "bash", {"command": "cat x"})],
        [
            {"source_call_id": "c2", "content": "Error: no such file"},
            {"source_call_id": "c1", "content": [{"type": "text", "text": "a b"}]},
        ],
        reasoning_content="hm",
    )
    ends = step("agent", "Done.", [("c3", "finish", {})])
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s-1",
        "trajectory_id": "t-1",
        "agent": {"name": "harness", "version": "1", "model_name": "m", "tool_definitions": [{"x": 1}]},
        "steps": [step("system", "Be good."), step("user", "List the files."), listed, ends],
        "final_metrics": {"total_cost_usd": 0.1},
        **more,
    }


def entry(uuid, parent, kind, content, session="s-1", **more):
    """Return a line of Claude Code."""
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message |= {
            "id": more.pop("message_id", f"msg-{uuid}"),
            "model": "claude",
            "usage": {"input_tokens": 1},
        }
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "isSidechain": False,
        "sessionId": session,
        "version": "2.0.76",
        "gitBranch": "main",
        "cwd": "/home/pat/desk",
        "type": kind,
        "message": message,
        "timestamp": "2026-01-31T10:00:00Z",
        **more,
    }


def uses(call, name="Read", **given):
    return {"type": "tool_use", "id": call, "name": name, "input": given}


def answers(call, content, **more):
    return {"type": "tool_result", "tool_use_id": call, "content": content, **more}


def claude(session="s-1", question="Read the file."):
    """Return the lines of a short session: a call, its result, an answer."""
    at = session
    return [
        {"type": "summary", "summary": "x", "leafUuid": "y"},
        entry(f"{at}-1", None, "user", question, session),
        entry(
            f"{at}-2", f"{at}-1", "assistant", [{"type": "text", "text": "I read."}, uses("t1", a=1)], session
        ),
        entry(f"{at}-3", f"{at}-2", "user", [answers("t1", "no such file", is_error=True)], session),
        entry(f"{at}-4", f"{at}-3", "assistant", [{"type": "text", "text": "It is not there."}], session),
    ]


def swe_agent(**more):
    calls = [{"id": "c1", "type": "function", "function": {"name": "open", "arguments": '{"path": "x"}'}}]
    return {
        "environment": "main",
        "trajectory": [
            {
                "action": "open x",
                "observation": "1: a",
                "thought": "I open it.",
                "response": "r",
                "state": {},
            },
            {"action": "submit", "observation": "", "thought": "Done.", "response": "r", "state": "{}"},
        ],
        "history": [
            {"role": "system", "content": "You are a programmer.", "agent": "main"},
            {"role": "user", "content": "A demonstration", "is_demo": True},
            {"role": "user", "content": "Fix it."},
            {"role": "assistant", "content": "I open it.", "action": "open x", "tool_calls": calls},
            {"role": "tool", "content": "1: a", "tool_call_ids": ["c1"]},
        ],
        "info": {"exit_status": "submitted", "submission": "diff", "model_stats": {"api_calls": 2}},
        "replay_config": json.dumps(
            {"problem_statement": {"id": "repo-i1"}, "agent": {"model": {"name": "m"}}}
        ),
        **more,
    }


def mini_swe_agent(**more):
    def run(command):
        return f"THOUGHT: so.\n\n```mswea_bash_command\n{command}\n```"

    def out(code, text):
        return f"<returncode>{code}</returncode>\n<output>\n{text}\n</output>"

    messages = [
        {"role": "system", "content": "You can interact with a computer."},
        {"role": "user", "content": "Solve this: x"},
        {"role": "assistant", "content": run("ls")},
        {"role": "user", "content": out(0, "a")},
        {"role": "assistant", "content": run("cat b"), "extra": {"actions": [{"command": "cat b"}]}},
        {"role": "user", "content": out(1, "cat: b: No such file"), "extra": {"returncode": 1}},
        {"role": "assistant", "content": "no command"},
        {"role": "user", "content": "Please give one command."},
    ]
    info = {"exit_status": "Submitted", "submission": "diff", "mini_version": "1.14.0", "config": {}}
    return {"info": info, "messages": messages, "trajectory_format": "mini-swe-agent-1", **more}


def sample(number=1, epoch=1, **more):
    """Return a sample of Inspect."""
    call = {"id": "c1", "function": "bash", "arguments": {"cmd": "ls"}, "type": "function"}
    failed = {"type": "timeout", "message": "it took too long"}
    return {
        "id": number,
        "epoch": epoch,
        "input": "attachment://ab12",
        "target": "gold",
        "messages": [
            {"id": "m0", "role": "system", "content": "Be good."},
            {"id": "m1", "role": "user", "content": "attachment://ab12", "source": "input"},
            {
                "id": "m2",
                "role": "assistant",
                "content": [{"type": "text", "text": "I look."}],
                "tool_calls": [call],
            },
            {
                "id": "m3",
                "role": "tool",
                "content": "",
                "tool_call_id": "c1",
                "function": "bash",
                "error": failed,
            },
            {"id": "m4", "role": "assistant", "content": "It is a."},
        ],
        "output": {"model": "m", "choices": []},
        "scores": {"match": {"value": "C"}, "judge": {"value": 0.25, "explanation": "Not polite."}},
        "events": [],
        "attachments": {"ab12": "What is there?"},
        "uuid": f"u{number}-{epoch}",
        **more,
    }


def inspect(*samples, **more):
    task = {"task": "list", "run_id": "r", "model": "m", "created": "2026-01-01T00:00:00Z"}
    head = {"version": 2, "status": "success", "eval": task, "results": {"scores": []}}
    return {**head, "samples": list(samples) or [sample()], **more}


def eval_file(log, method=zipfile.ZIP_DEFLATED):
    """Return the bytes of a log as Inspect's `.eval`."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        head = {key: value for key, value in log.items() if key != "samples"}
        archive.writestr("_journal/start.json", json.dumps(head))
        for one in log["samples"]:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
        archive.writestr("summaries.json", "[]")
        archive.writestr("header.json", json.dumps(head))
    return made.getvalue()


def tau2(**more):
    """Return a result file of tau2 with three simulations: one passed, one failed, one nobody's fault."""
    gold = {"action_id": "a", "name": "cancel", "arguments": {"id": "R1"}, "requestor": "assistant"}
    task = {
        "id": "7",
        "user_scenario": {"instructions": {"reason_for_call": "You want to cancel R1."}},
        "evaluation_criteria": {"actions": [gold], "reward_basis": ["DB", "COMMUNICATE"]},
    }

    def simulation(name, reward, reason="user_stop"):
        asked = {"id": "c", "name": "cancel", "arguments": {"id": "R1"}, "requestor": "assistant"}
        own = {"id": "c", "name": "look_at_phone", "arguments": {}, "requestor": "user"}
        result = {"role": "tool", "id": "c", "content": "Error: no", "error": True, "requestor": "assistant"}
        breakdown = {"DB": reward, "COMMUNICATE": 1.0}
        scored = {"reward": reward, "reward_breakdown": breakdown, "action_checks": [{"action": gold}]}
        return {
            "id": name,
            "task_id": "7",
            "termination_reason": reason,
            "reward_info": scored if reward is not None else None,
            "messages": [
                {"role": "assistant", "content": "Hello", "tool_calls": None, "raw_data": {"x": 1}},
                {"role": "user", "content": "Cancel R1.", "tool_calls": None},
                {"role": "assistant", "content": None, "tool_calls": [asked]},
                result,
                {"role": "user", "content": None, "tool_calls": [own]},
                {"role": "tool", "id": "c", "content": "4 bars", "error": False, "requestor": "user"},
            ],
            "trial": 0,
            "seed": 1,
        }

    runs = [simulation("p", 1.0), simulation("f", 0.0), simulation("i", None, "infrastructure_error")]
    info = {
        "agent_info": {"llm": "m"},
        "user_info": {"llm": "u"},
        "environment_info": {"domain_name": "airline"},
    }
    return {"timestamp": "2026", "info": info, "tasks": [task], "simulations": runs, **more}


def span(name, kind, parent=None, at=0, *, trace="7b" * 16, lasts=1, failed="", **attributes):
    """Return a span as OpenTelemetry's SDK writes it; `__` in a key of the attributes stands for a dot."""
    given = {key.replace("__", "."): value for key, value in attributes.items()}
    return {
        "name": name,
        "context": {"trace_id": f"0x{trace}", "span_id": f"0x{span_id(name)}", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL",
        "parent_id": f"0x{span_id(parent)}" if parent else None,
        "start_time": f"2026-01-31T10:00:{at:02}.000000Z",
        "end_time": f"2026-01-31T10:00:{at + lasts:02}.500000Z",
        "status": {"status_code": "ERROR", "description": failed} if failed else {"status_code": "OK"},
        "attributes": {"openinference.span.kind": kind, **given},
        "events": [],
        "links": [],
        "resource": {"attributes": {"service.name": "shop"}, "schema_url": ""},
    }


def span_id(name):
    return name.encode().hex()[:16].ljust(16, "0")


def spoken(way, messages, *, contents=False):
    """Return the attributes of messages: (role, text, calls as (id, name, arguments), id it answers)."""
    found = {}
    for at, (role, text, calls, answered) in enumerate(messages):
        place = f"llm.{way}_messages.{at}.message"
        found[f"{place}.role"] = role
        if contents and role != "tool":
            found[f"{place}.contents.0.message_content.type"] = "text"
            found[f"{place}.contents.0.message_content.text"] = text
        elif text:
            found[f"{place}.content"] = text
        for number, (key, name, given) in enumerate(calls):
            call = f"{place}.tool_calls.{number}.tool_call"
            found |= {f"{call}.id": key, f"{call}.function.name": name}
            found[f"{call}.function.arguments"] = json.dumps(given)
        if answered:
            found[f"{place}.tool_call_id"] = answered
    return found


def openinference(trace="7b" * 16, question="Refund R1.", **more):
    """Return the spans of a short trace: a lookup that is answered, and a refund that is refused."""
    system, asked = ("system", "Be good.", (), ""), ("user", question, (), "")
    looks = ("assistant", "I look.", [("c1", "get_order", {"id": "R1"})], "")
    found = ("tool", '{"opened": true}', (), "c1")
    tries = ("assistant", "", [("c2", "refund", {"id": "R1"})], "")
    turns = [([system, asked], [looks]), ([system, asked, looks, found], [tries])]
    calls = [
        span(
            f"llm{n}",
            "LLM",
            "agent",
            1 + 4 * n,
            trace=trace,
            llm__model_name="m",
            **spoken("input", told, contents=n == 1),
            **spoken("output", said),
        )
        for n, (told, said) in enumerate(turns)
    ]
    tool = {"tool__name": "get_order", "input__value": '{"id": "R1"}', "output__value": '{"opened": true}'}
    refused = {"tool__name": "refund", "input__value": '{"id": "R1"}'}
    return [
        calls[0],
        span("t1", "TOOL", "agent", 3, trace=trace, **tool),
        calls[1],
        span("t2", "TOOL", "agent", 7, trace=trace, failed="it was opened", **refused),
        span("agent", "AGENT", None, trace=trace, lasts=20, input__value=question, **more),
    ]


def otlp(spans):
    """Return spans of the SDK as OTLP writes them."""

    def value(given):
        kinds = {bool: "boolValue", str: "stringValue", float: "doubleValue"}
        return {"intValue": str(given)} if type(given) is int else {kinds[type(given)]: given}

    def nanoseconds(text):
        return str(int(datetime.fromisoformat(text).timestamp() * 1000) * 10**6)

    def one(given):
        attributes = [{"key": key, "value": value(item)} for key, item in given["attributes"].items()]
        failed = given["status"]["status_code"] == "ERROR"
        return {
            "traceId": given["context"]["trace_id"][2:],
            "spanId": given["context"]["span_id"][2:],
            "parentSpanId": (given["parent_id"] or "0x")[2:],
            "name": given["name"],
            "kind": 1,
            "startTimeUnixNano": nanoseconds(given["start_time"]),
            "endTimeUnixNano": nanoseconds(given["end_time"]),
            "attributes": attributes,
            "status": {"code": 2, "message": given["status"]["description"]} if failed else {"code": 1},
        }

    scope = {"scope": {"name": "x"}, "spans": [one(given) for given in spans]}
    return {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


ALL = {
    "atif": json.dumps(atif(), indent=1),
    "claude-code": lines(claude()),
    "inspect": json.dumps(inspect(), indent=2),
    "mini-swe-agent": json.dumps(mini_swe_agent(), indent=2),
    "openinference": lines(openinference()),
    "swe-agent": json.dumps(swe_agent()),
    "tau2": json.dumps(tau2(), indent=4),
}
"""Format → a file of it."""
