"""OfflineExtractor: writes down what happened in a rollout, without instance data. No model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.domain import RubricEvaluation
from trainer.offline.facts import Call, Facts, read_facts
from trainer.offline.masking import changes_something, error_template, is_name
from trainer.offline.page import page_name
from xpstore.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainer.domain import Rollout
    from xpstore.trajectory import TrajectoryOutcome

MAX_STEPS = 60
MAX_KEYS = 12
_UNSCORED = RubricEvaluation(passed=True, score=1.0)


class OfflineExtractor:
    """TrajectoryExtractor that lists the calls of a rollout by tool and argument names."""

    async def extract(self, rollout: Rollout, evaluation: RubricEvaluation | None) -> list[Trajectory]:
        """Return one note per tool that changed something, or one; none for a rollout without messages."""
        facts = read_facts(rollout, evaluation or _UNSCORED)
        if not facts.events:
            return []
        parts = _parts(facts.calls)
        return [_note(facts, rollout, evaluation, part, at, len(parts)) for at, part in enumerate(parts, 1)]


def _parts(calls: Sequence[Call]) -> list[tuple[Call, ...]]:
    """Split after the last call of each tool that changes something: one part per intent."""
    writing = [c for c in calls if changes_something(c.tool)]
    if len({c.tool for c in writing}) < 2:
        return [tuple(calls)]
    cuts = sorted({max(c.at for c in writing if c.tool == tool) for tool in {c.tool for c in writing}})
    parts: list[tuple[Call, ...]] = []
    start = -1
    for cut in cuts:
        end = cut if cut != cuts[-1] else calls[-1].at
        parts.append(tuple(c for c in calls if start < c.at <= end))
        start = end
    return [part for part in parts if part]


def _note(  # noqa: PLR0913, PLR0917  # what a note is made of
    facts: Facts,
    rollout: Rollout,
    evaluation: RubricEvaluation | None,
    calls: Sequence[Call],
    number: int,
    parts: int,
) -> Trajectory:
    tools = list(dict.fromkeys(_named(c.tool) for c in calls))
    changed = list(dict.fromkeys(_named(c.tool) for c in calls if changes_something(c.tool)))
    intent = (
        page_name(next((c.tool for c in reversed(calls) if changes_something(c.tool)), ""))
        if changed
        else "talk"
    )
    asked = f"A task that used {_listed(changed)}" if changed else "A task in which nothing was changed"
    read = [t for t in tools if t not in changed]
    after = f", after {_listed(read)}" if read else ""
    part = f" Part {number} of {parts}." if parts > 1 else ""
    steps = ["## Steps", "", *_steps(calls), ""]
    end = ["## End", "", f"- {_ending(facts, calls)}", *_said(evaluation), ""]
    return Trajectory(
        name=f"{intent}-{facts.id[:8]}-{number}",
        content="\n".join(["## Asked", "", f"{asked}{after}.{part}", "", *steps, *end]),
        outcome=_outcome(evaluation, facts),
        retrieval_anchor=f"{asked}{after}",
        rollout=facts.id,
        metadata={"case": rollout.case.name, "tools": list(tools)},
    )


def _steps(calls: Sequence[Call]) -> list[str]:
    if not calls:
        return ["- No tool was called."]
    steps = [f"{n}. {_step(call)}" for n, call in enumerate(calls[:MAX_STEPS], 1)]
    return [*steps, f"- {len(calls) - MAX_STEPS} more calls."] if len(calls) > MAX_STEPS else steps


def _step(call: Call) -> str:
    keys = [f"`{key}`" for key in call.arguments if is_name(key)][:MAX_KEYS]
    given = f" with {', '.join(keys)}" if keys else ""
    refused = f": refused, “{call.template or 'an error'}”" if call.refused else ""
    return f"{_named(call.tool)}{given}{refused}"


def _ending(facts: Facts, calls: Sequence[Call]) -> str:
    if not calls:
        return "It was all talk."
    last = calls[-1]
    return f"The last call, {_named(last.tool)}, was {'refused' if last.refused else 'accepted'}" + (
        "." if last.at == facts.calls[-1].at else "; the rollout went on."
    )


def _said(evaluation: RubricEvaluation | None) -> list[str]:
    """Return what the evaluation said: criteria by name, feedback with its literals masked."""
    if evaluation is None:
        return ["- Nobody scored it."]
    lines = [f"- It {'passed' if evaluation.passed else 'failed'}."]
    lines += [
        f"- Not met: `{r.criterion_name}`."
        for r in evaluation.criterion_results
        if not r.passed and is_name(r.criterion_name)
    ]
    feedback = dict.fromkeys(error_template(text) for text in evaluation.feedback)
    return [*lines, *(f"- Feedback: “{text}”" for text in feedback if text)]


def _outcome(evaluation: RubricEvaluation | None, facts: Facts) -> TrajectoryOutcome:
    if evaluation is None:
        return "unknown"
    if evaluation.passed:
        return "success"
    if evaluation.score > 0:
        return "partial"
    return "failure" if facts.events else "unfinished"


def _named(tool: str) -> str:
    return f"`{tool}`" if is_name(tool) else "a tool"


def _listed(names: Iterable[str]) -> str:
    *rest, last = list(names)
    return f"{', '.join(rest)} and {last}" if rest else last
