"""What a transcript shows: who said what, which tools were called, what they answered, how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from trainer.offline.condition import all_of
from trainer.offline.masking import error_template
from trainer.offline.objects import Features, ObjectIndex, call_features, is_id, leaves, object_features

if TYPE_CHECKING:
    from pydantic import JsonValue

    from trainer.domain import Message, Rollout, RubricEvaluation, ToolPart
    from trainer.offline.condition import Atom, Condition


@dataclass(frozen=True, slots=True)
class Say:
    """A message of the user or the agent."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call and its answer. `at` is the position among the events of the rollout."""

    tool: str
    arguments: Mapping[str, JsonValue]
    output: str
    data: JsonValue
    """The answer as JSON; None where it is none."""
    refused: bool
    at: int

    @property
    def template(self) -> str:
        """The refusal with its literals masked; empty for an accepted call."""
        return error_template(self.output) if self.refused else ""


@dataclass(frozen=True)
class Facts:
    """One rollout as the learner and the checker see it. Labels are only for the learner."""

    id: str
    case: str
    failed: bool
    events: tuple[Say | Call, ...]
    system: str = ""
    scored: bool = True
    """Whether anybody scored it: without a score it says what tools refuse, and nothing of failing."""
    criteria: Mapping[str, bool] = field(default_factory=dict)
    """Criterion → failed, as far as the evaluation names criteria."""
    expected: tuple[tuple[str, Mapping[str, JsonValue]], ...] | None = None
    """Training label: the calls of a perfect agent; None where the case has none."""

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls, in order."""
        return tuple(e for e in self.events if isinstance(e, Call))

    @property
    def shows_the_agent(self) -> bool:
        """Whether the agent says or calls anything: where it does not, what it did is not on record."""
        return any(isinstance(e, Call) or e.role != "user" for e in self.events)

    def of(self, tool: str) -> tuple[Call, ...]:
        """Return the calls of one tool, in order."""
        return self._by_tool.get(tool, ())

    @cached_property
    def _by_tool(self) -> dict[str, tuple[Call, ...]]:
        found: dict[str, list[Call]] = {}
        for call in self.calls:
            found.setdefault(call.tool, []).append(call)
        return {tool: tuple(calls) for tool, calls in found.items()}

    @cached_property
    def features(self) -> Mapping[int, Features]:
        """`Call.at` → what was known when the call was made (see `objects.call_features`)."""
        index = ObjectIndex(self.system)
        result: dict[int, Features] = {}
        for call in self.calls:
            result[call.at] = call_features(call.arguments, index)
            if not call.refused:
                index.add(call.arguments, call.data)
        return result

    @cached_property
    def unseen(self) -> Mapping[int, frozenset[str]]:
        """`Call.at` → paths of identifiers in the arguments that no message and no answer had before."""
        told = self.system
        result: dict[int, frozenset[str]] = {}
        for event in self.events:
            if isinstance(event, Say):
                told += "\n" + event.text
                continue
            result[event.at] = frozenset(
                path
                for path, value in leaves(event.arguments)
                if isinstance(value, str) and value and is_id(path) and value not in told
            )
            told += "\n" + event.output
        return result

    def holds(self, condition: Condition, at: int) -> bool | None:
        """Say whether a condition held for the call at this position; None where that is open."""
        return all_of(self._atom(atom, at) for atom in condition)

    def met(self, condition: Condition, key: str) -> bool:
        """Say whether an object was read that `key` names and for which a condition on objects holds."""
        known = [self._object_atom(key, atom) for atom in condition]
        if not known:
            return bool(self.objects(key))
        return any(all(one) for one in zip(*known, strict=True))

    def _object_atom(self, key: str, atom: Atom) -> tuple[bool | None, ...]:
        """Return whether an atom holds for each object that `key` names."""
        known = self._object_atoms.get((key, atom))
        if known is None:
            known = tuple(atom.holds(features) for features in self.objects(key))
            self._object_atoms[key, atom] = known
        return known

    @cached_property
    def _object_atoms(self) -> dict[tuple[str, Atom], tuple[bool | None, ...]]:
        return {}

    def _atom(self, atom: Atom, at: int) -> bool | None:
        known = self._atoms.get((atom, at), ...)
        if known is ...:
            known = self._atoms[atom, at] = atom.holds(self.features[at])
        return known

    @cached_property
    def _atoms(self) -> dict[tuple[Atom, int], bool | None]:
        return {}

    def objects(self, key: str) -> tuple[Features, ...]:
        """Return what is known, at the end, about each object that `key` names."""
        if key not in self._objects:
            found = self._last.named_by(key)
            self._objects[key] = tuple(object_features(key, target, self._last) for target in found)
        return self._objects[key]

    @cached_property
    def _objects(self) -> dict[str, tuple[Features, ...]]:
        return {}

    @cached_property
    def _last(self) -> ObjectIndex:
        index = ObjectIndex(self.system)
        for call in self.calls:
            if not call.refused:
                index.add(call.arguments, call.data)
        return index


def read_transcript(messages: Sequence[Message]) -> tuple[tuple[Say | Call, ...], str]:
    """Return what the agent heard and did, in order, and the instructions: joined by newlines.

    What a user does with tools of their own the agent neither does nor sees.
    """
    events: list[Say | Call] = []
    system: list[str] = []
    for message in messages:
        if message.role in {"system", "developer"}:
            system.append(message.text)
            continue
        _append(events, message)
    return tuple(events), "\n".join(system)


def read_facts(rollout: Rollout, evaluation: RubricEvaluation) -> Facts:
    """Return the facts of a rollout; `evaluation` is what it counts as, where it was not scored itself."""
    events, system = read_transcript(rollout.messages)
    return Facts(
        id=rollout.id,
        case=rollout.case.name,
        failed=not evaluation.passed,
        events=events,
        system=system,
        scored=rollout.evaluation is not None,
        criteria={r.criterion_name: not r.passed for r in evaluation.criterion_results},
        expected=_expected(rollout.case.input.get("expected_actions")),
    )


def _append(events: list[Say | Call], message: Message) -> None:
    if message.text.strip():
        events.append(Say(message.role, message.text))
    start = len(events)
    events.extend([_call(part, start + i) for i, part in enumerate(message.calls)])


def _call(part: ToolPart, at: int) -> Call:
    arguments = part.tool_input if isinstance(part.tool_input, dict) else {}
    refused = part.tool_status == "error"
    data: JsonValue = None
    if part.tool_output[:1] in {"{", "["} and not refused:
        try:
            data = json.loads(part.tool_output)
        except (ValueError, RecursionError):
            data = None
    return Call(part.tool_name, arguments, part.tool_output, data, refused, at)


def _expected(value: JsonValue) -> tuple[tuple[str, Mapping[str, JsonValue]], ...] | None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    found: list[tuple[str, Mapping[str, JsonValue]]] = []
    for action in value:
        if isinstance(action, dict) and isinstance(action.get("name"), str):
            arguments = action.get("arguments")
            found.append((str(action["name"]), arguments if isinstance(arguments, dict) else {}))
    return tuple(found)
