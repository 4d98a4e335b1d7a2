"""Traces of OpenInference as rollouts: one for each session, or for each trace that is of none.

What models were asked and said is the conversation, as far as they are of the agent (or the agents, of which
one hands over to the next) that no other agent and no tool called. Deeper ones are side agents, and speak
where they were called. What judges, embeds and guards is no part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.domain import Rollout
from trainer.importers.cases import first_query, query_case
from trainer.importers.chat import read_messages
from trainer.importers.form import Flaw, Format, Found, texts
from trainer.importers.jsontext import RecordError
from trainer.importers.openinference import FORMAT, NAME, is_spans, spans_of, text_at
from trainer.importers.openinference_messages import is_cut, messages_of, plain_messages, tool_run
from trainer.importers.openinference_scores import bounded, evaluation_of, marks_of
from trainer.importers.openinference_talk import Said, Talk, as_side, with_blocks, with_tools

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from trainer.importers.openinference import Object, Span
    from trainer.importers.openinference_messages import ToolRun
    from trainer.importers.openinference_scores import Mark

_AGENTS = frozenset({"AGENT", "TOOL"})
_APART = frozenset({"LLM", "EVALUATOR", "GUARDRAIL", "EMBEDDING", "RERANKER", "RETRIEVER", "PROMPT"})
"""What stands below them is their own affair; below a model it is the same call, recorded twice."""
_JUDGED = frozenset({"", "AGENT", "CHAIN", "EVALUATOR", "LLM"})
_ERRORS = 20  # of a rollout that are kept
_ERROR = 500  # characters

Place = tuple[str, int]


@dataclass(slots=True)
class _Kept:
    """What is kept of a span."""

    id: str
    parent: str
    kind: str
    start: int
    end: int
    place: Place
    order: int
    given: list[Object] = field(default_factory=list)
    said: list[Object] = field(default_factory=list)
    run: ToolRun | None = None
    marks: tuple[Mark, ...] = ()
    model: str = ""
    error: str = ""


@dataclass(slots=True)
class _Trace:
    """The spans of a trace, and the session that one of them names."""

    session: str = ""
    spans: dict[str, _Kept] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Standing:
    """Where a span stands: in how many agents and tools, in which one, and whether in none of ours."""

    level: int = 0
    owner: str = ""
    is_apart: bool = False
    is_inner: bool = False
    """Whether any span above is of a known kind; the outermost that is stands for the whole."""


@dataclass(slots=True)
class Traces:
    """Collects spans, in any order, and gives the rollouts in the order in which they came."""

    _traces: dict[str, _Trace] = field(default_factory=dict)
    _messages: dict[str, Object] = field(default_factory=dict)
    """Each message once: every call of a model repeats those before it."""
    _unclear: set[str] = field(default_factory=set)
    _given: set[str] = field(default_factory=set)
    """Traces that were given already."""
    _parted: bool = False
    _count: int = 0
    size: int = 0
    """Characters that are held, about."""

    def add(self, record: dict[str, JsonValue], place: Place) -> list[Flaw]:
        """Take the spans of a record, and return what is to be told of them."""
        told: list[Flaw] = []
        for span in spans_of(record):
            if isinstance(span, RecordError):
                told.append(Flaw(str(span)))
                continue
            if span.trace in self._given and not self._parted:
                self._parted = True
                why = "spans of a trace lie so far apart that they are several rollouts: sort them by trace"
                told.append(Flaw(why, "warning"))
            trace = self._traces.setdefault(span.trace, _Trace())
            trace.session = trace.session or span.session
            if span.id in trace.spans:
                continue
            kept = self._kept(span, place)
            trace.spans[span.id] = kept
            if span.kind == "LLM" and is_cut(span):
                told.append(Flaw(f"the messages of span {span.id:.40} are too long to be read", "warning"))
            for mark in kept.marks:
                if mark.passed is None and mark.name not in self._unclear and len(self._unclear) < _ERRORS:
                    self._unclear.add(mark.name)
                    why = f"evaluation {mark.name!r} does not say what is good: it is no score (see --scores)"
                    told.append(Flaw(why, "warning"))
        return told

    def conversations(self) -> Iterator[tuple[Place, Found | RecordError]]:
        """Yield (place of its first span, the rollout, or why there is none); forget all.

        Traces in which no model was called, such as those of a web server, are told of once.
        """
        traces, self._traces, self._messages, self.size = self._traces, {}, {}, 0
        self._given.update(traces)
        groups: dict[tuple[str, str], list[tuple[str, _Trace]]] = {}
        for name, trace in traces.items():
            key = ("session", trace.session) if trace.session else ("trace", name)
            groups.setdefault(key, []).append((name, trace))
        silent: list[Place] = []
        for (kind, name), group in groups.items():
            place = min((s for _, t in group for s in t.spans.values()), key=lambda s: s.order).place
            found = _rollout(name if kind == "session" else "", group)
            if found is None:
                silent.append(place)
            else:
                yield place, found
        if silent:
            count = f"{len(silent)} traces hold" if len(silent) > 1 else "the trace holds"
            yield silent[0], RecordError(f"{count} no span of a model or agent that says anything")

    def _kept(self, span: Span, place: Place) -> _Kept:
        self._count += 1
        kept = _Kept(span.id, span.parent, span.kind, span.start, span.end or span.start, place, self._count)
        self.size += 300
        if span.kind in {"LLM", "TOOL", "AGENT"} and span.is_error:
            kept.error = f"{span.name}: {span.error or 'failed'}"[:_ERROR]
        if span.kind == "TOOL":
            kept.run = tool_run(span)
            self.size += len(kept.run.output)
        elif span.kind == "LLM" or (not span.parent and span.kind in {"", "AGENT", "CHAIN"}):
            given, said = (messages_of if span.kind == "LLM" else plain_messages)(span)
            kept.given, kept.said = ([self._once(m) for m in part] for part in (given, said))
            kept.model = text_at(span.attributes, "llm", "model_name") or text_at(
                span.attributes, "gen_ai", "request", "model"
            )
        if span.kind in _JUDGED:
            kept.marks = bounded(list(marks_of(span)))
        return kept

    def _once(self, message: Object) -> Object:
        key = repr(message)
        if key not in self._messages:
            self.size += len(key)
        return self._messages.setdefault(key, message)


def _standings(spans: dict[str, _Kept]) -> dict[str, _Standing]:
    """Return where each span stands; parents in a circle have none."""
    inside: dict[str, _Standing] = {}
    for span in spans.values():
        path: list[_Kept] = []
        walked: set[str] = set()
        at: _Kept | None = span
        while at is not None and at.id not in inside and at.id not in walked:
            walked.add(at.id)
            path.append(at)
            at = spans.get(at.parent)
        before = inside.get(at.id, _Standing()) if at is not None else _Standing()
        for one in reversed(path):
            is_agent = one.kind in _AGENTS
            before = inside[one.id] = _Standing(
                before.level + is_agent,
                one.id if is_agent else before.owner,
                before.is_apart or one.kind in _APART,
                before.is_inner or bool(one.kind),
            )
    return {key: inside.get(span.parent, _Standing()) for key, span in spans.items()}


def _rollout(session: str, group: list[tuple[str, _Trace]]) -> Found | None:
    """Return the rollout of the traces of a session, or of one; None where nothing is said in them."""
    ordered = sorted(group, key=lambda one: min((s.start, s.order) for s in one[1].spans.values()))
    talk = Talk()
    runs: list[ToolRun] = []
    blocks: list[tuple[int, list[Said]]] = []
    branches = 0
    for name, trace in ordered:
        main, sides = _agents(trace, runs)
        for span in main:
            talk.add(name, span.start, span.end, span.given, span.said)
        for spans, own in sides:
            side = Talk()
            for span in spans:
                side.add(name, span.start, span.end, span.given, span.said)
            branches += side.branches
            blocks.append((spans[0].start, as_side(with_tools(side.said(), own))))
    said = with_tools(talk.said(), runs)
    chat = read_messages([one.message for one in with_blocks(said, blocks)])
    if not chat.messages:
        return None
    everything = [s for _, trace in ordered for s in sorted(trace.spans.values(), key=_when)]
    tops = [s for _, trace in ordered for s in _whole(trace)]
    marks = bounded([mark for span in tops for mark in span.marks])
    judged = evaluation_of(marks)
    branches += talk.branches
    metadata: dict[str, JsonValue] = {"source": FORMAT, "traces": [name for name, _ in ordered]}
    metadata |= {"session": session} if session else {}
    models = list(dict.fromkeys(span.model for span in everything if span.model))
    metadata |= {"model": models[0] if len(models) == 1 else [*models]} if models else {}
    errors = list(dict.fromkeys(span.error for span in everything if span.error))[:_ERRORS]
    metadata |= {"errors": [*errors]} if errors else {}
    metadata |= {"evaluations": [mark.said for mark in marks]} if marks else {}
    metadata |= {"branches": branches} if branches else {}
    metadata |= {"messages": chat.extra} if chat.extra else {}
    case = query_case(first_query(chat.messages), {"source": FORMAT})
    if judged:
        rubric = judged[1].model_copy(update={"name": f"{case.name}_rubric"})
        case = case.model_copy(update={"rubric": rubric})
    evaluation = judged[0] if judged else None
    rollout = Rollout(case=case, messages=chat.messages, evaluation=evaluation, metadata=metadata)
    names = texts(*(name for name, _ in ordered))
    ids = texts(*(span.id for span in tops if span.kind != "EVALUATOR"))
    return Found(rollout, (*((session,) if session else ()), *names, *ids))


def _whole(trace: _Trace) -> list[_Kept]:
    """Return the spans that stand for the whole trace, and those of evaluators that judge it, by time."""
    standing = _standings(trace.spans)
    found = [
        span
        for span in trace.spans.values()
        if not standing[span.id].is_apart
        and (
            span.kind == "EVALUATOR"
            or (bool(span.kind) and not standing[span.id].is_inner)
            or not span.parent
        )
    ]
    return sorted(found, key=_when)


def _agents(
    trace: _Trace, runs: list[ToolRun]
) -> tuple[list[_Kept], list[tuple[list[_Kept], list[ToolRun]]]]:
    """Return the calls of models of the agent itself, and of each side agent with its tools, by time.

    Tools of the agent itself are added to `runs`. Where no model was called, the root says what was
    asked and answered.
    """
    standing = _standings(trace.spans)
    spans = sorted((s for s in trace.spans.values() if not standing[s.id].is_apart), key=_when)
    called = [s for s in spans if s.kind == "LLM" and (s.given or s.said)]
    main_level = min((standing[s.id].level for s in called), default=0)
    by_owner: dict[str, list[_Kept]] = {}
    for span in called:
        if standing[span.id].level > main_level:
            by_owner.setdefault(standing[span.id].owner, []).append(span)
    tools: dict[str, list[ToolRun]] = {}
    for span in spans:
        owner = standing[span.id].owner
        in_tool = owner in trace.spans and trace.spans[owner].kind == "TOOL" and owner not in by_owner
        if span.run is not None and not in_tool:
            (tools.setdefault(owner, []) if owner in by_owner else runs).append(span.run)
    main = [s for s in called if standing[s.id].level == main_level]
    roots = [s for s in spans if s.kind != "LLM" and (s.given or s.said)]
    return main or roots[:1], [(own, tools.get(owner, [])) for owner, own in by_owner.items()]


def _when(span: _Kept) -> tuple[int, int]:
    return span.start, span.order


def read(record: dict[str, JsonValue]) -> Iterator[Found | Flaw]:
    """Yield the rollouts of the spans in one record."""
    traces = Traces()
    yield from traces.add(record, ("", 0))
    for _, found in traces.conversations():
        if isinstance(found, RecordError):
            raise found
        yield found


OPENINFERENCE = Format(NAME, FORMAT, is_spans, read)
