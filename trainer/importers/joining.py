"""What lies in several records, or several files, and is one rollout: sessions, and trajectories that go on.

Names in recordings are compared with the names of the files that were given; none is ever opened.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from trainer.importers.atif import FORMAT as ATIF_TITLE
from trainer.importers.atif import joined, version_warning
from trainer.importers.atif import matches as is_trajectory
from trainer.importers.claude_code import FORMAT as CLAUDE_TITLE
from trainer.importers.claude_code import NAME as CLAUDE_CODE
from trainer.importers.claude_code import is_entry, is_known
from trainer.importers.claude_session import Sessions
from trainer.importers.jsontext import RecordError
from trainer.importers.openinference import FORMAT as SPANS_TITLE
from trainer.importers.openinference import NAME as OPENINFERENCE
from trainer.importers.openinference import is_spans
from trainer.importers.openinference_trace import Traces
from trainer.importers.source import Problem

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from pydantic import JsonValue

    from trainer.importers.form import Found
    from trainer.importers.source import Record

HELD = 64 << 20
"""Characters that are held, about; what comes then is joined with what comes after it only."""
_LINKS = 100  # files that continue each other
_KINDS = 20  # kinds of unknown lines of a file that are told


@dataclass(frozen=True, slots=True)
class Joined:
    """A rollout of several records, and where the first of them is."""

    path: str
    line: int
    title: str
    found: Found | RecordError


@dataclass(slots=True)
class Joining:
    """Holds records that may belong to others."""

    forced: str = ""
    several: bool = False
    """Whether there are other files, in which a trajectory could go on."""
    _sessions: Sessions = field(default_factory=Sessions)
    _traces: Traces = field(default_factory=Traces)
    _trajectories: dict[str, tuple[Record, dict[str, JsonValue]]] = field(default_factory=dict)
    _size: int = 0
    _told: dict[str, set[str]] = field(default_factory=dict)
    """File of Claude Code → kinds of lines that were told of."""

    def take(self, record: Record) -> list[Problem] | None:
        """Hold a record, and return what is to be told; None = it stands for itself."""
        value = record.value
        if not isinstance(value, dict):
            return None
        if self.forced in ("", CLAUDE_CODE) and (is_entry(value) or self._is_theirs(record)):
            return self._line(record, value)
        if self.forced in ("", OPENINFERENCE) and is_spans(value):
            told = self._traces.add(value, (record.path, record.line))
            return [Problem(record.path, record.line, flaw.why, flaw.kind) for flaw in told]
        alone = not self.several or record.path in self._trajectories
        if self.forced in ("", "atif") and is_trajectory(value) and not alone and "simulations" not in value:
            self._trajectories[record.path] = record, value
            self._size += _file_size(record.path)
            return [Problem(record.path, record.line, why, "warning") for why in version_warning(value)]
        return None

    @property
    def is_full(self) -> bool:
        """Whether what is held should be given now."""
        return self._sessions.size + self._traces.size + self._size > HELD

    def give(self) -> Iterator[Joined]:
        """Yield the rollouts of what is held, and hold nothing."""
        for (path, line), conversation in self._sessions.conversations():
            yield Joined(path, line, CLAUDE_TITLE, conversation)
        for (path, line), found in self._traces.conversations():
            yield Joined(path, line, SPANS_TITLE, found)
        held, self._trajectories, self._size = self._trajectories, {}, 0
        yield from _trajectories(held)

    def _is_theirs(self, record: Record) -> bool:
        """Say whether a line of an unknown kind stands in a file of Claude Code."""
        value = record.value
        is_line = isinstance(value, dict) and isinstance(value.get("type"), str) and "messages" not in value
        return is_line and record.path in self._told

    def _line(self, record: Record, value: dict[str, JsonValue]) -> list[Problem]:
        told = self._told.setdefault(record.path, set())
        self._sessions.add(value, record.path, record.line)
        if is_known(value) or len(told) == _KINDS:
            return []
        kind = f"{str(value.get('type'))[:40]!r} of version {str(value.get('version'))[:40]!r}"
        if kind in told:
            return []
        told.add(kind)
        why = f"lines of type {kind} are not known; what they say may be missing"
        return [Problem(record.path, record.line, why, "warning")]


def _file_size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:  # it is gone; what was read of it is still here
        return 0


def _trajectories(held: dict[str, tuple[Record, dict[str, JsonValue]]]) -> Iterator[Joined]:
    """Yield the trajectories: each with what continues it and the side agents that it names, where given."""
    after = {path: goes_on for path, (_, value) in held.items() if (goes_on := _goes_on(path, value, held))}
    sides = {path: _sides(path, value, held) for path, (_, value) in held.items()}
    parts = {*after.values(), *(side for named in sides.values() for side in named.values())}
    told: set[str] = set()
    for path in [*(path for path in held if path not in parts), *held]:  # what goes in a circle comes last
        chain: list[str] = []
        at: str | None = path
        while at is not None and at not in told and len(chain) < _LINKS:
            told.add(at)
            chain.append(at)
            at = after.get(at)
        if chain:
            told.update(side for link in chain for side in sides[link].values())
            yield Joined(path, held[path][0].line, ATIF_TITLE, _joined(chain, sides, held))


def _joined(
    chain: list[str], sides: dict[str, dict[str, str]], held: dict[str, tuple[Record, dict[str, JsonValue]]]
) -> Found | RecordError:
    parts: list[dict[str, JsonValue]] = []
    for link in chain:
        value = held[link][1]
        inner = value.get("subagent_trajectories")
        inside = list(inner) if isinstance(inner, list) else []
        beside = [{**held[side][1], "trajectory_id": name} for name, side in sides[link].items()]
        parts.append({**value, "subagent_trajectories": [*inside, *beside]})
    try:
        return joined(parts)
    except RecordError as error:
        return error


def _goes_on(path: str, value: dict[str, JsonValue], held: Container[str]) -> str | None:
    """Return the file that continues a trajectory, where it was given."""
    return _beside(path, value.get("continued_trajectory_ref"), held)


def _sides(path: str, value: dict[str, JsonValue], held: Container[str]) -> dict[str, str]:
    """Return the side agents that a trajectory names and that were given: the name in it → the file."""
    found: dict[str, str] = {}
    steps = value.get("steps")
    for step in steps if isinstance(steps, list) else []:
        observation = step.get("observation") if isinstance(step, dict) else None
        results = observation.get("results") if isinstance(observation, dict) else None
        for result in results if isinstance(results, list) else []:
            refs = result.get("subagent_trajectory_ref") if isinstance(result, dict) else None
            for ref in refs if isinstance(refs, list) else [refs]:
                name = ref.get("trajectory_path") if isinstance(ref, dict) else None
                file = _beside(path, name, held)
                if file is not None:
                    found[str(name)] = file
    return found


def _beside(path: str, name: JsonValue, held: Container[str]) -> str | None:
    """Return the file beside `path` with the name that is last in `name`, where it was given."""
    last = PurePosixPath(name).name if isinstance(name, str) else ""
    beside = str(Path(path).with_name(last)) if last else ""
    return beside if beside in held and beside != path else None
