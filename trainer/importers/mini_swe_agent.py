"""Trajectories of mini-swe-agent: chat messages whose calls are command lines in a code block, or tool calls.

Older versions write the bare list of messages, newer ones an object with `info`, `messages` and
`trajectory_format`. What follows a command is its result.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from trainer.domain import Rollout
from trainer.importers.cases import first_query, named_case, query_case
from trainer.importers.chat import read_messages
from trainer.importers.form import Flaw, Format, Found, chosen, texts
from trainer.importers.jsontext import RecordError, as_list, as_object
from trainer.importers.swe_agent import SHELL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

FORMAT = "mini-swe-agent"
VERSIONS = frozenset({"mini-swe-agent-1", "mini-swe-agent-1.0", "mini-swe-agent-1.1"})
_BLOCK = re.compile(r"```(?:mswea_bash_command|bash|sh)[ \t]*\r?\n(.*?)\r?\n?```", re.DOTALL)
_OWN_BLOCK = "```mswea_bash_command"
_CODE = re.compile(r"<returncode>\s*(-?\d{1,10})\s*</returncode>")
_TIMEOUT = re.compile(r"The (?:last )?command\b.{0,20000}?timed out", re.DOTALL)
_ERROR = "is_error"
_EXIT = "exit"
_ROLES = frozenset({"assistant", "tool"})


def matches(record: dict[str, JsonValue]) -> bool:
    """Say whether the record is such an object, or such a list of messages (`source` makes it an object)."""
    messages = record.get("messages")
    if not isinstance(messages, list):
        return False
    if str(record.get("trajectory_format", "")).startswith(FORMAT):
        return True
    info = record.get("info")
    if isinstance(info, dict) and ("mini_version" in info or {"exit_status", "submission"} <= info.keys()):
        return True
    said = [m.get("content") for m in messages if isinstance(m, dict) and m.get("role") == "assistant"]
    return set(record) == {"messages"} and any(isinstance(text, str) and _OWN_BLOCK in text for text in said)


def read(record: dict[str, JsonValue]) -> Iterator[Found | Flaw]:
    """Yield the rollout, after a warning where the version is not known."""
    version = record.get("trajectory_format")
    if version is not None and str(version) not in VERSIONS:
        yield Flaw(f"trajectory_format {str(version)[:40]!r} is not known; read as 1.1", "warning")
    chat = read_messages(list(_items(as_list(record.get("messages"), "messages"))))
    if not chat.messages:
        raise RecordError("messages is empty")
    info = as_object(record.get("info") or {}, "info")
    config = info.get("config")
    model = config.get("model") if isinstance(config, dict) else None
    metadata: dict[str, JsonValue] = {"source": FORMAT}
    metadata |= chosen(info, "exit_status", "submission", "mini_version", "model_stats")
    if isinstance(model, dict):
        metadata |= {"model": model.get("model_name")}
    name = record.get("instance_id", info.get("instance_id"))
    query = first_query(chat.messages)
    known: dict[str, JsonValue] = {"source": FORMAT}
    case = named_case(name, metadata=known) if isinstance(name, str) else query_case(query, known)
    yield Found(Rollout(case=case, messages=chat.messages, metadata=metadata), texts(name))


def _items(messages: list[JsonValue]) -> Iterator[dict[str, JsonValue]]:
    """Yield the messages in OpenAI's form; a command is open until the message that follows it."""
    waiting = ""
    for at, value in enumerate(messages):
        message = as_object(value, f"messages[{at}]")
        role, content, more = message.get("role"), message.get("content"), message.get("extra")
        about = more if isinstance(more, dict) else {}
        if role == _EXIT:
            if not waiting:
                continue  # says what `info` says
            role = "user"
        if waiting and role == "user":
            yield {
                "role": "tool",
                "tool_call_id": waiting,
                "content": content,
                _ERROR: _failed(content, about),
            }
            waiting = ""
            continue
        waiting = ""
        item: dict[str, JsonValue] = {"role": role, "content": content}
        if role == "tool":
            item |= {"tool_call_id": message.get("tool_call_id"), _ERROR: _failed(content, about)}
        elif role == "assistant" and message.get("tool_calls"):
            item["tool_calls"] = message["tool_calls"]
        elif role == "assistant" and (command := _command(content, about)):
            waiting = f"call-{at}"
            item["content"] = _BLOCK.sub("", str(content)).strip()
            item["tool_calls"] = [{"id": waiting, "name": SHELL, "arguments": {"command": command}}]
        yield item


def _command(content: JsonValue, about: dict[str, JsonValue]) -> str:
    """Return the one command of a message; "" where there is none, or more than the agent takes."""
    actions = about.get("actions")
    if isinstance(actions, list) and len(actions) == 1:
        action = actions[0]
        command = action.get("command") if isinstance(action, dict) else action
        if isinstance(command, str):
            return command.strip()
    found = _BLOCK.findall(content) if isinstance(content, str) else []
    return found[0].strip() if len(found) == 1 else ""


def _failed(content: JsonValue, about: dict[str, JsonValue]) -> bool:
    """Say whether a result is that of a command that failed, or ran out of time."""
    code = about.get("returncode")
    if isinstance(code, int):
        return code != 0
    text = content if isinstance(content, str) else ""
    found = _CODE.search(text[:200])
    return int(found[1]) != 0 if found else bool(_TIMEOUT.match(text))


MINI_SWE_AGENT = Format("mini-swe-agent", FORMAT, matches, read)
