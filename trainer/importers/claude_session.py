"""Conversations of Claude Code, put together from lines of any number of files.

* What belongs together: entries that name each other as parents, and those of one session. So a session that
  was resumed in another file continues, also where its beginning was copied (the same `uuid` counts once).
* What was said: the line from the last message back to the first. Messages that were taken back (an edited
  prompt) are left out and counted; parallel calls and their results, which stand beside the line, are not.
* `/clear` begins another conversation. A compaction does not: its summary is a message of the program.
* A side agent (`isSidechain`) speaks where it was called, in roles of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.domain import Rollout
from trainer.importers.atif import SIDE, TASK
from trainer.importers.cases import first_query, query_case
from trainer.importers.chat import read_messages
from trainer.importers.claude_code import FORMAT, Entry, entry, is_injected
from trainer.importers.form import Found, texts
from trainer.importers.jsontext import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

_PROMPT = "prompt"


@dataclass(slots=True)
class Sessions:
    """Collects lines, and gives the conversations in the order in which they began."""

    _entries: dict[str, Entry] = field(default_factory=dict)
    size: int = 0
    """Characters that are held, about."""

    def add(self, record: dict[str, JsonValue], path: str, line: int) -> None:
        """Take a line; one that is no part of a conversation, or was seen, is passed over."""
        found = entry(record, (path, line), len(self._entries))
        if found is not None and found.uuid not in self._entries:
            self._entries[found.uuid] = found
            self.size += len(json.dumps(found.content)) + 200

    def conversations(self) -> Iterator[tuple[tuple[str, int], Found | RecordError]]:
        """Yield (file and line of its first entry, the conversation, or why there is none); forget all."""
        entries, self._entries, self.size = self._entries, {}, 0
        groups = _groups(entries)
        sides = [e for e in entries.values() if e.is_side]
        for group in sorted(groups, key=lambda found: found[0].order):
            sessions = {e.session for e in group}
            own = _side_agents(e for e in sides if e.session in sessions)
            line = _line(group)
            taken_back = sum(e.is_message for e in group) - sum(e.is_message for e in line)
            parts = _split(line)
            for number, part in enumerate(parts, start=1):
                place = part[0].place
                last = number == len(parts)
                try:
                    found = _conversation(part, own, number if len(parts) > 1 else 0, last=last)
                    if taken_back and last:
                        found.rollout.metadata["taken_back"] = taken_back
                    yield place, found
                except RecordError as error:
                    yield place, error
        told = {e.session for group in groups for e in group}
        for chain in _side_agents(e for e in sides if e.session not in told):
            try:  # its session was not given: it stands alone
                yield chain[0].place, _conversation(chain, [], 0, last=True)
            except RecordError as error:
                yield chain[0].place, error


def _groups(entries: dict[str, Entry]) -> list[list[Entry]]:
    """Return the entries that belong together, side agents left out; each group in the order of arrival."""
    leader: dict[str, str] = {}

    def find(key: str) -> str:
        while leader.setdefault(key, key) != key:
            leader[key] = key = leader[leader[key]]
        return key

    for e in entries.values():
        if not e.is_side:
            leader[find(e.uuid)] = find(f"session {e.session}")
            if e.parent in entries and not entries[e.parent].is_side:
                leader[find(e.uuid)] = find(e.parent)
    groups: dict[str, list[Entry]] = {}
    for e in entries.values():
        if not e.is_side:
            groups.setdefault(find(e.uuid), []).append(e)
    return [group for group in groups.values() if any(e.is_message for e in group)]


def _line(group: list[Entry]) -> list[Entry]:
    """Return what was said in a group: the line of each of its trees, in the order of time."""
    known = {e.uuid: e for e in group}
    trees: dict[str, list[Entry]] = {}
    roots: dict[str, str] = {}
    for e in group:
        trees.setdefault(_root(e, known, roots), []).append(e)
    lines = [_tree_line(tree) for tree in trees.values()]
    lines.sort(key=lambda line: (line[0].time, line[0].order) if line else ("", 0))
    return [e for line in lines for e in line]


def _root(e: Entry, known: dict[str, Entry], roots: dict[str, str]) -> str:
    """Return the root of an entry's tree; parents in a circle have one of them as the root."""
    path: list[str] = []
    at, walked = e.uuid, set[str]()
    while at not in roots and at not in walked:
        walked.add(at)
        path.append(at)
        parent = known[at].parent
        if parent not in known:
            break
        at = parent
    root = roots.get(at, at)
    roots.update(dict.fromkeys(path, root))
    return root


def _tree_line(tree: list[Entry]) -> list[Entry]:
    """Return the entries from the root to the last message, with parallel calls and results beside it."""
    known = {e.uuid: e for e in tree}
    said = [e for e in tree if e.is_message]
    if not said:
        return []
    before = _nearest(tree, known)
    followed = {before[e.uuid] for e in said}
    ends = [e for e in said if e.uuid not in followed] or said[-1:]
    line: list[Entry] = []
    at: Entry | None = max(ends, key=lambda e: (e.time, e.order))
    walked: set[str] = set()
    while at is not None and at.uuid not in walked:
        walked.add(at.uuid)
        line.append(at)
        at = known.get(at.parent)
    line.reverse()
    return _with_parallel(line, [e for e in said if e.uuid not in walked])


def _nearest(tree: list[Entry], known: dict[str, Entry]) -> dict[str, str]:
    """Return for each entry the message before it, across what the program put between; "" = none."""
    found: dict[str, str] = {}
    for e in tree:
        path: list[str] = []
        at: Entry | None = e
        before = ""
        while at is not None:
            if at.uuid in found:
                before = found[at.uuid]
                break
            path.append(at.uuid)
            found[at.uuid] = ""  # parents in a circle end here
            at = known.get(at.parent)
            if at is not None and at.is_message:
                before = at.uuid
                break
        found.update(dict.fromkeys(path, before))
    return found


def _with_parallel(line: list[Entry], others: list[Entry]) -> list[Entry]:
    """Put in the other blocks of a message in the line, and the results of calls in it."""
    messages = {e.message_id for e in line if e.message_id}
    blocks = [e for e in others if e.message_id in messages]
    answered = {call for e in line for call in e.answers}
    calls = {call for e in [*line, *blocks] for call in e.calls} - answered
    results = []
    for e in others:
        if calls.intersection(e.answers):
            calls -= set(e.answers)
            results.append(e)
    if not blocks and not results:
        return line
    place: dict[str, float] = {e.uuid: float(n) for n, e in enumerate(line)}
    by_message = {e.message_id: place[e.uuid] for e in line if e.message_id}
    for e in blocks:
        place[e.uuid] = by_message[e.message_id] + 0.25
    called = {call: place[e.uuid] for e in [*line, *blocks] for call in e.calls}
    for e in results:
        place[e.uuid] = max(called.get(call, 0.0) for call in e.answers if call in called) + 0.5
    return sorted([*line, *blocks, *results], key=lambda e: (place[e.uuid], e.order))


def _split(line: list[Entry]) -> list[list[Entry]]:
    """Return the conversations of a line: `/clear` ends one; one in which nothing was said is none."""
    parts: list[list[Entry]] = [[]]
    for e in line:
        if e.is_clear:
            parts.append([])
        else:
            parts[-1].append(e)
    return [part for part in parts if any(e.is_message and not is_injected(e) for e in part)]


def _side_agents(entries: Iterable[Entry]) -> list[list[Entry]]:
    """Return the lines of side agents, in the order in which they began."""
    found = list(entries)
    known = {e.uuid: e for e in found}
    roots: dict[str, str] = {}
    agents: dict[str, list[Entry]] = {}
    for e in found:
        agents.setdefault(e.agent or _root(e, known, roots), []).append(e)
    lines = [[e for e in agent if e.is_message] for agent in agents.values()]
    return [line for line in lines if line]


def _conversation(part: list[Entry], sides: list[list[Entry]], number: int, *, last: bool) -> Found:
    """Return the rollout of a conversation; `number` counts those of a session that was cleared."""
    said = [e for e in part if e.is_message]
    mine, rest = _by_call(said, sides)
    items: list[JsonValue] = []
    blocks: dict[str, dict[str, JsonValue]] = {}
    for e in said:
        item = blocks.get(e.message_id) if e.message_id else None
        if item is not None and isinstance(e.content, list) and isinstance(item["content"], list):
            item["content"] = [*item["content"], *e.content]  # one answer, a line for each of its parts
        else:
            blocks[e.message_id] = item = _item(e)
            items.append(item)
        for call in e.calls:
            items += [_item(one) for side in mine.pop(call, []) for one in side]
    items += [_item(one) for side in rest if last for one in side]
    chat = read_messages(items)
    if not chat.messages:
        raise RecordError("nothing is said in the conversation")
    sessions = list(dict.fromkeys(e.session for e in part if e.session))
    metadata: dict[str, JsonValue] = {"source": FORMAT, "sessions": list(sessions)}
    for key in ("model", "version", "gitBranch"):
        values = list(dict.fromkeys(str(e.about[key]) for e in part if key in e.about))
        metadata |= {key: values[0] if len(values) == 1 else list(values)} if values else {}
    compacted = sum("compacted" in e.about for e in part)
    metadata |= {"compacted": compacted} if compacted else {}
    if chat.extra:
        metadata["messages"] = chat.extra
    typed = [e for e in said if e.role == "user" and not e.is_side and not is_injected(e) and not e.answers]
    asked = read_messages([{"role": "user", "content": e.content} for e in typed[:1]]).messages
    query = first_query(asked) or first_query(chat.messages)
    names = [f"{session}#{number}" if number else session for session in sessions]
    agent = texts(part[0].agent) if part[0].is_side else ()
    return Found(
        Rollout(case=query_case(query, {"source": FORMAT}), messages=chat.messages, metadata=metadata),
        (*agent, *([] if agent else names), part[0].uuid),
    )


def _item(e: Entry) -> dict[str, JsonValue]:
    """Return an entry as a chat message."""
    role = "system" if is_injected(e) and not e.answers else e.role
    if e.is_side:
        role = SIDE if e.role == "assistant" else TASK
    return {"role": role, "content": e.content}


def _by_call(
    said: list[Entry], sides: list[list[Entry]]
) -> tuple[dict[str, list[list[Entry]]], list[list[Entry]]]:
    """Return the side agents by the call that started them, and those of which none is known.

    The result names its agent, or what the agent was told is the prompt of the call. A side agent whose call
    is here is taken out of `sides`: each speaks once.
    """
    by_agent = {e.agent: call for e in said if e.agent for call in e.answers}
    prompts: dict[str, list[str]] = {}
    for e in said:
        for call, given in e.calls.items():
            prompt = given.get(_PROMPT) if isinstance(given, dict) else None
            if isinstance(prompt, str):
                prompts.setdefault(prompt, []).append(call)
    found: dict[str, list[list[Entry]]] = {}
    for side in list(sides):
        waiting = prompts.get(side[0].text, [])
        started = by_agent.get(side[0].agent) or (waiting.pop(0) if waiting else None)
        if started is not None:
            sides.remove(side)
            found.setdefault(started, []).append(side)
    return found, list(sides)
