"""Recordings that a model learns from, and a scripted model that does it well: one page for each topic.

What is said in a recording tells the scripted model what to answer, as it would tell a real one; so its
answers are a function of what it is shown, in whatever order it is asked.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.llm_server import LlmServer, Seen

LESSONS = {
    "refund": "Call `get_order` before you call `refund`.",
    "exchange": "Ask which size is wanted before you call `exchange`.",
    "address": "Read the new address back before you call `set_address`.",
    "invoice": "Call `list_invoices` before you call `send_invoice`.",
    "voucher": "Do not call `give_voucher` when the order is older than the warranty.",
    "delivery": "Tell the customer the new day after you call `move_delivery`.",
    "warranty": "Look at the proof of purchase before you call `open_claim`.",
    "account": "Ask for a second confirmation before you call `close_account`.",
}
"""Topic → what a trial that failed shows. Every topic is a page of its own."""
QUOTE = "I did it right away"
DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_LETTER = re.compile(r"[Ll]etter ([a-z ]+), about")
_TOPIC = re.compile(r"about the topic (\w+)")
_TRIAL = re.compile(r"^trial (\d+): failed", re.MULTILINE)
_OPEN = re.compile(r"^\[(\d+)\] .*adds it", re.MULTILINE)


def recording(topic: str, number: int, *, said: str = "", case: str = "", score: float | None = 0.0) -> str:
    """Return a recording as a line of JSON: the agent did it at once, and failed."""
    spelled = " ".join(DIGITS[int(digit)] for digit in str(number))
    arguments = json.dumps({"order": f"Q{number:04}X"})
    call = {"id": "1", "type": "function", "function": {"name": topic, "arguments": arguments}}
    row = {
        "case": case or f"{topic}-{number}",
        "score": score,
        "messages": [
            {
                "role": "user",
                "content": f"Letter {spelled}, about the topic {topic}, order Q{number:04}X. {said}".strip(),
            },
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": '{"status": "done"}'},
            {"role": "assistant", "content": f"{QUOTE}."},
        ],
    }
    return json.dumps({key: value for key, value in row.items() if key != "score" or score is not None})


def recordings(count: int, topics: Sequence[str] = tuple(LESSONS)) -> Iterator[str]:
    """Yield recordings of as many cases, the topics in turn."""
    for number in range(count):
        yield recording(topics[number % len(topics)], number)


def write(path: Path, lines: Iterator[str] | Sequence[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def topic_of(seen: Seen) -> str:
    found = _TOPIC.search(seen.content)
    assert found, seen.content
    return found[1]


def _letter(seen: Seen) -> str:
    found = _LETTER.search(seen.content)
    return f"letter {found[1]}" if found else "a letter"


def extract(seen: Seen) -> object:
    """A note that quotes what the agent said; its words lead to the lesson."""
    topic = topic_of(seen)
    return {
        "notes": [
            {
                "asked": f"Somebody writes about the topic {topic}.",
                "steps": [f"Called `{topic}`.", f"Answered {_letter(seen)}."],
                "findings": [{"quote": QUOTE, "kind": "wrong", "what": "It did not look first."}],
                "outcome": "failure",
                "name": topic,
                "anchor": f"about the topic {topic}",
            }
        ],
        "nothing": "",
    }


def edit(seen: Seen) -> object:
    """The lesson of the topic, on the evidence of the trials that failed; nothing where a page has it."""
    topic = topic_of(seen)
    if LESSONS[topic] in seen.content:
        return {"edits": [], "nothing": "a page says it already"}
    trials = [int(number) for number in _TRIAL.findall(seen.content)]
    return {"edits": [proposal(topic, LESSONS[topic], trials)], "nothing": ""}


def proposal(name: str, text: str, trials: Sequence[int] = (1,)) -> dict[str, object]:
    """An edit that makes a page with a lesson, or adds it to the page of this name."""
    return {
        "trials": list(trials),
        "rationale": "It was done without a look.",
        "action": "create",
        "page": 0,
        "statement": 0,
        "name": name,
        "when": f"When somebody asks for {name}.",
        "section": "Approach",
        "text": text,
        "confidence": 5,
    }


def merge(seen: Seen) -> object:
    """Keep everything."""
    numbers = sorted({int(number) for number in _OPEN.findall(seen.content)})
    return {
        "account": [{"number": n, "fate": "kept", "into": 0, "reason": "", "page": ""} for n in numbers],
        "wordings": [],
        "pages": [],
    }


def teach(server: LlmServer) -> LlmServer:
    """Let a server answer all that training asks."""
    for stage, handler in {"extract": extract, "edit": edit, "merge": merge, "probe": "yes"}.items():
        server.on(stage, handler)
    return server


DESK = {
    "cancel_order": ["After you call `cancel_order`, call `notify_customer`."],
    "exchange_item": ["Call `check_fraud` before you call `exchange_item`."],
    "grant_discount": ["Do not call `grant_discount` when the argument `form` is `percentage`."],
    "redirect_order": [
        "Do not call `redirect_order` when the `warehouse` of `order_id` is `west`.",
        "Do not call `redirect_order` when the argument `place` is `home`.",
    ],
    "upgrade_delivery": [
        "Call `check_stock` before you call `upgrade_delivery`.",
        "After you call `upgrade_delivery`, call `notify_warehouse`.",
        "Do not call `upgrade_delivery` when the `status` of `order_id` is `packed`.",
    ],
}
"""What the order desk of the demo wants: tool → lessons that its agent obeys."""
_CALLED = re.compile(rf"\b({'|'.join(DESK)})\b")
_USER = re.compile(r"^\[\d+\] user: (.*)$", re.MULTILINE)


def extract_desk(seen: Seen) -> object:
    """A note on a trial at the order desk that names the tool which changed something."""
    shown = seen.content.partition("<<<transcript")[2]
    called = sorted({tool for tool in DESK if f"call {tool} " in shown})
    if "NOT met" not in seen.content or not called:
        return {"notes": [], "nothing": "it went as it should"}
    said = _USER.search(shown)
    assert said
    note = {
        "asked": "A customer wants something changed.",
        "steps": [f"Called `{tool}`." for tool in called],
        "findings": [{"quote": said[1][:60], "kind": "wrong", "what": "The company wants more than that."}],
        "outcome": "failure",
        "name": "desk",
        "anchor": " ".join(called),
    }
    return {"notes": [note], "nothing": ""}


def edit_desk(seen: Seen) -> object:
    """The lessons on the tools that failed trials called, where no page has them."""
    trials = seen.content.partition("<<<trials")[2]
    tools = sorted(set(_CALLED.findall(trials)))
    failed = [int(number) for number in _TRIAL.findall(trials)]
    new = [(tool, text) for tool in tools for text in DESK[tool] if text not in seen.content]
    if not new:
        return {"edits": [], "nothing": "the pages say it already"}
    return {"edits": [proposal(tool.replace("_", "-"), text, failed) for tool, text in new], "nothing": ""}


def teach_desk(server: LlmServer) -> LlmServer:
    """Let a server answer all that training at the order desk asks."""
    answers = {"extract": extract_desk, "edit": edit_desk, "merge": merge, "probe": "yes"}
    for stage, handler in answers.items():
        server.on(stage, handler)
    return server
