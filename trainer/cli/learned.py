"""What training taught, as lines for people: commits, what taught nothing, what was left out."""

from __future__ import annotations

import re
from collections import Counter
from shlex import quote
from typing import TYPE_CHECKING

from xpstore.cli.output import counted, grouped, paint, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import JsonValue

    from trainer.train_report import TrainReport

_COUNT = re.compile(r" \(\d+\)$")  # of candidates, behind a reason
REASONS_SHOWN = 10


def describe_learned(report: TrainReport) -> Iterator[str]:
    """Yield the commits, then the reasons for everything that was not learned, commonest first."""
    failures = [f for f in report.failures if f.stage != "receive"]
    yield from describe_commits(report)
    yield from _nothing(report)
    yield from _reasons("Not merged:", [f"{name}: {why}" for name, why in report.refused.items()])
    for branch in report.kept:
        yield paint(f"  (xp resolve {quote(branch)} to decide)")
    by_rule = [f"{name}: {why}" for name, why in report.fallbacks.items()]
    yield from _reasons("Merged by rule, not as the model said:", by_rule)
    yield from _reasons("Said twice:", [_twice(d) for d in report.duplicates])
    yield from _reasons("Failed:", [f"{f.stage}: {f.error}" for f in failures])
    yield from _left_out(report)


def _twice(duplicate: Mapping[str, JsonValue]) -> str:
    kind, page, other = (str(duplicate[key]) for key in ("kind", "page", "other"))
    verb = {"page": "says what", "contradiction": "contradicts"}.get(kind, "says a lesson of")
    return f"{page} {verb} {other}{' says already' if kind == 'page' else ''}"


def _nothing(report: TrainReport) -> Iterator[str]:
    parts = [_COUNT.sub("", part) for why in report.nothing.values() for part in why.split("; ")]
    several = " (a rollout can have several reasons)" if len(parts) > len(report.nothing) else ""
    yield from _reasons(f"{counted(len(report.nothing), 'rollout')} taught nothing{several}:", parts)


def describe_commits(report: TrainReport) -> Iterator[str]:
    """Yield how much was learned, and a line per commit."""
    if not report.plans:
        fresh = report.rollouts - len(report.already)
        yield (
            "Everything here is already learned." if report.already and not fresh else "Nothing was learned."
        )
        return
    commits = counted(len(report.plans), "commit")
    lessons = counted(sum(p.lessons for p in report.plans), "lesson")
    where = f"on {report.branch}"
    yield paint(
        f"{lessons}, {commits} {where}" if not report.dry_run else f"{lessons}; would be {commits} {where}"
    )
    for plan in report.plans:
        sha = paint(shortened(plan.commit or plan.plan_id), "yellow")
        yield f"  {sha} {paint(plan.subject)}"
        for name, status in plan.unserved.items():
            yield paint(f"    {name} is {status}: no agent reads it")


def _reasons(title: str, reasons: list[str]) -> Iterator[str]:
    if reasons:
        yield title
        for reason, count in grouped(reasons, REASONS_SHOWN):
            yield f"  {count:4}  {paint(reason)}"


def _left_out(report: TrainReport) -> Iterator[str]:
    """Yield what the learner tried and dropped, in the form that learners report: counts by reason."""
    counts: Counter[str] = Counter()
    _count(report.report.get("dropped"), "", counts)
    if counts:
        tried = report.report.get("candidates")
        of = f" of {counted(tried, 'candidate')}" if tried and isinstance(tried, int) else ""
        yield f"Left out{of}:"
        for why, number in grouped(counts, REASONS_SHOWN):
            yield f"  {number:4}  {paint(why)}"
    groups = [group for group in report.report.values() if isinstance(group, dict)]
    refused = [why for group in groups if isinstance(whys := group.get("refused"), list) for why in whys]
    yield from _reasons("Edits refused:", [str(why) for why in refused])


def _count(dropped: JsonValue, why: str, counts: Counter[str]) -> None:
    if isinstance(dropped, dict):
        for key, inner in dropped.items():
            _count(inner, key, counts)
    elif isinstance(dropped, int):
        counts[why] += dropped
