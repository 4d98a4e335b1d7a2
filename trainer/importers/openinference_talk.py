"""What several calls of a model say together: each is given what was said before, and adds an answer.

A call goes on with a line of the conversation where it repeats all of it, or its end. One that begins as a
line of the same trace does, and differs then, is a branch: of those the longest counts. Any other begins
anew, and comes after what was said before it.
"""

from __future__ import annotations

import bisect
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.importers.atif import SIDE, TASK
from trainer.importers.openinference import text_at
from trainer.importers.openinference_messages import calls_of, text_of
from xpstore.hashing import canonical_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.importers.openinference import Object
    from trainer.importers.openinference_messages import ToolRun

_LINES = 50  # that a call may go on with, the newest
_PLACES = 20  # where the end of a line may begin again
_SIDE_ROLES = {"assistant": SIDE, "user": TASK, "system": TASK}


@dataclass(slots=True)
class Said:
    """A message, and when it was first seen."""

    time: int
    message: Object


@dataclass(slots=True)
class _Line:
    said: list[Said] = field(default_factory=list)
    signs: list[int] = field(default_factory=list)
    """Of each message that is no instruction, what tells it from others."""


@dataclass(slots=True)
class Talk:
    """Takes the calls in the order of time."""

    _groups: list[list[_Line]] = field(default_factory=list)
    """Lines that begin with the same message of one trace."""
    _begun: dict[tuple[str, int], list[_Line]] = field(default_factory=dict)
    """Trace and first message → the group."""
    _newest: deque[_Line] = field(default_factory=lambda: deque(maxlen=_LINES))

    def add(self, trace: str, start: int, end: int, given: list[Object], answer: list[Object]) -> None:
        """Take a call of a model."""
        head = [m for m in given if m["role"] == "system"]
        rest = [m for m in given if m["role"] != "system"]
        signs, ends = [_sign(m) for m in rest], [_sign(m) for m in answer]
        if not signs and not ends:
            return
        lines = list(self._newest)
        if any(line.signs[: len(signs) + len(ends)] == signs + ends for line in lines):
            return
        known = [len(line.signs) for line in lines if line.signs and signs[: len(line.signs)] == line.signs]
        if known:
            line = next(one for one in lines if one.signs == signs[: max(known)])
            start_at = max(known)
        else:
            line, start_at = self._line(trace, lines, signs)
        told = {_sign(s.message) for s in line.said if s.message["role"] == "system"}
        line.said += [Said(start, m) for m in head if _sign(m) not in told]
        line.said += [Said(start, m) for m in rest[start_at:]] + [Said(end, m) for m in answer]
        line.signs += signs[start_at:] + ends

    def _line(self, trace: str, lines: list[_Line], signs: list[int]) -> tuple[_Line, int]:
        """Return the line of a call that repeats none from its beginning, and how much of it is known."""
        for line in reversed(lines):
            overlap = _overlap(line.signs, signs)
            if overlap:
                return line, overlap
        made = _Line()
        self._newest.append(made)
        group = self._begun.get((trace, signs[0])) if signs else None
        if group is None:
            group = []
            self._groups.append(group)
            if signs:
                self._begun[trace, signs[0]] = group
        group.append(made)
        return made, 0

    def said(self) -> list[Said]:
        """Return the conversation."""
        found: list[Said] = []
        told: set[int] = set()
        for group in self._groups:
            for one in max(group, key=lambda line: len(line.signs)).said:
                sign = _sign(one.message) if one.message["role"] == "system" else None
                if sign is None or sign not in told:
                    found.append(one)
                told |= {sign} if sign is not None else set()
        return found

    @property
    def branches(self) -> int:
        """How many lines are no part of the conversation."""
        return sum(len(group) - 1 for group in self._groups)


def with_tools(said: list[Said], runs: Sequence[ToolRun]) -> list[Said]:
    """Return the conversation with the results that only spans of tools have, and their errors.

    Runs of a tool that nobody called in a message are put in by time.
    """
    calls = [(at, call) for at, one in enumerate(said) for call in calls_of(one.message)]
    matched = _matched([call for _, call in calls], runs)
    answers = _answers(said)
    after: dict[int, list[Said]] = {}
    changed: dict[int, Object] = {}
    for number, ((at, call), run) in enumerate(zip(calls, matched, strict=True)):
        if run is None:
            continue
        place = answers.get(number)
        if place is None:
            result = _result(run, text_at(call, "id"), text_at(call, "name"))
            after.setdefault(at, []).append(Said(said[at].time, result))
        elif run.is_error:
            changed[place] = {**said[place].message, "is_error": True}
    found: list[Said] = []
    for at, one in enumerate(said):
        found.append(Said(one.time, changed.get(at, one.message)))
        found += after.get(at, [])
    named = {text_at(call, "name") for _, call in calls}
    used = {run.span for run in matched if run is not None}
    alone = [run for run in runs if run.name not in named and run.span not in used]
    return with_blocks(found, [(run.start, _alone(run)) for run in alone])


def with_blocks(said: list[Said], blocks: list[tuple[int, list[Said]]]) -> list[Said]:
    """Return the conversation with others put in, each after what was said before its time."""
    highest: list[int] = []
    for one in said:
        highest.append(max(one.time, highest[-1] if highest else 0))
    put: dict[int, list[Said]] = {}
    for time, block in sorted(blocks, key=lambda b: b[0]):
        put.setdefault(bisect.bisect_right(highest, time), []).extend(block)
    found = [*put.get(0, [])]
    for at, one in enumerate(said, start=1):
        found += [one, *put.get(at, [])]
    return found


def as_side(said: list[Said]) -> list[Said]:
    """Return what a side agent says, in roles of its own."""
    return [
        Said(s.time, {**s.message, "role": _SIDE_ROLES.get(str(s.message["role"]), s.message["role"])})
        for s in said
    ]


def _matched(calls: list[Object], runs: Sequence[ToolRun]) -> list[ToolRun | None]:
    """Return the run of each call: by its id, else by name and arguments, else by name and order."""
    left = {run.span: run for run in runs}
    found: list[ToolRun | None] = [None] * len(calls)
    keys: list[list[bytes]] = [_keys(call) for call in calls]
    for level in range(3):
        waiting: dict[bytes, list[ToolRun]] = {}
        for run in left.values():
            waiting.setdefault(_run_keys(run)[level], []).append(run)
        counts: dict[bytes, int] = {}
        for at, key in enumerate(keys):
            if found[at] is None:
                counts[key[level]] = counts.get(key[level], 0) + 1
        for one in waiting.values():
            one.reverse()
        sizes = {key: len(one) for key, one in waiting.items()}
        for at, key in enumerate(keys):
            if found[at] is not None or not key[level] or not waiting.get(key[level]):
                continue
            if level < 2 or sizes[key[level]] == counts[key[level]]:  # by order only where none is missing
                found[at] = run = waiting[key[level]].pop()
                left.pop(run.span, None)
    return found


def _keys(call: Object) -> list[bytes]:
    name, key = text_at(call, "name").encode(), text_at(call, "id").encode()
    return [key, name + b"\0" + _text(call.get("arguments")), name]


def _run_keys(run: ToolRun) -> list[bytes]:
    name = run.name.encode()
    return [run.call.encode(), name + b"\0" + _text(run.arguments), name]


def _text(value: object) -> bytes:
    return canonical_json(value)


def _answers(said: list[Said]) -> dict[int, int]:
    """Return which calls (by their number) are answered in the messages, and where."""
    by_id: dict[str, list[int]] = {}
    by_name: dict[str, list[int]] = {}
    found: dict[int, int] = {}
    number = 0
    for at, one in enumerate(said):
        for call in calls_of(one.message):
            by_id.setdefault(text_at(call, "id"), []).append(number)
            by_name.setdefault(text_at(call, "name"), []).append(number)
            number += 1
        if one.message["role"] in {"tool", "function"}:
            key, name = text_at(one.message, "tool_call_id"), text_at(one.message, "name")
            waiting = by_id.get(key, []) if key else by_name.get(name, [])
            while waiting and waiting[-1 if key else 0] in found:
                waiting.pop(-1 if key else 0)
            if waiting:
                found[waiting.pop(-1 if key else 0)] = at
    return found


def _result(run: ToolRun, key: str, name: str) -> Object:
    called: Object = {"role": "tool", "tool_call_id": key or None, "name": name, "content": run.output}
    return {**called, "is_error": run.is_error}


def _alone(run: ToolRun) -> list[Said]:
    """Return a call that stands in no message, with its result."""
    arguments = {} if run.arguments is None else run.arguments
    call: Object = {"id": run.span, "name": run.name, "arguments": arguments}
    asked: Object = {"role": "assistant", "content": "", "tool_calls": [call]}
    return [Said(run.start, asked), Said(run.start, _result(run, run.span, run.name))]


def _sign(message: Object) -> int:
    """Return what tells a message from others, as it is repeated: white space, and how it is kept, do not."""
    role, calls = str(message["role"]), calls_of(message)
    ids = [text_at(call, "id") for call in calls]
    if ids and all(ids):
        return hash((role, *ids))
    called = tuple((text_at(call, "name"), _text(call.get("arguments"))) for call in calls)
    return hash((role, called, text_at(message, "tool_call_id"), " ".join(text_of(message).split())))


def _overlap(line: list[int], signs: list[int]) -> int:
    """Return how many of the messages are the end of a line; 0 where that may be chance."""
    if len(signs) < 2 or not line:
        return 0
    places = [at for at in range(len(line) - 1) if line[at] == signs[0]]
    for at in places[:_PLACES]:
        if line[at:] == signs[: len(line) - at]:
            return len(line) - at
    return 0
