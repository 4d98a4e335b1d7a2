"""What was tried, what holds, what does not and why: for people, and per rollout."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from trainer.offline.outcomes import FAILED
from trainer.offline.wording import interval
from trainer.stats import Table, tally

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from pydantic import JsonValue

    from trainer.offline.facts import Facts
    from trainer.offline.grammar import Lesson
    from trainer.offline.learn import Learned, Learning


OPPOSED = "contradicts what a person wrote"
UNSCORED = "it has no score, and what tools refuse in it makes no lesson that holds"
UNSEEN = "it shows nothing that the agent said or did"


def report(learning: Learning, undone: Sequence[str], opposed: Sequence[str] = ()) -> dict[str, JsonValue]:
    """Return counts per family and reason, the lessons with their figures, and the pooled table."""
    dropped: dict[str, Counter[str]] = {}
    for lesson, why in _reasons(learning).items():
        dropped.setdefault(lesson.family, Counter())[why] += 1
    for family, count in learning.untested.items():
        dropped.setdefault(family, Counter())["too little support, or the same as another"] += count
    sentences = {line.partition(": ")[2] for line in opposed}
    for learned in learning.lessons:
        if learned.lesson.sentence() in sentences:
            dropped.setdefault(learned.lesson.family, Counter())[OPPOSED] += 1
    bench = learning.bench
    return {
        "rollouts": len(bench.corpus.rollouts) if bench else 0,
        "cases": len(set(bench.cases)) if bench else 0,
        "candidates": len(bench.lessons) if bench else 0,
        "tested": len(_reasons(learning)) + len(learning.lessons),
        "kept": [_row(learned) for learned in learning.lessons],
        "dropped": {family: dict(sorted(found.items())) for family, found in sorted(dropped.items())},
        "undone": list(undone),
        "opposed": list(opposed),
        "pooled": _table(pooled(learning.lessons)),
    }


def pooled(lessons: Iterable[Learned]) -> Table:
    """Return plain failure of all lessons on left-out cases, added up; a rollout counts once per lesson."""
    total = Table()
    for learned in lessons:
        total = total.plus(learned.left_out_failed)
    return total


def _reasons(learning: Learning) -> dict[Lesson, str]:
    """Return why each tested candidate is no lesson, once: the reason of the outcome on which it did best."""
    kept = {learned.lesson for learned in learning.lessons}
    found: dict[Lesson, str] = {}
    for trial, why in sorted(learning.dropped, key=lambda pair: -pair[0].score):
        if trial.lesson not in kept:
            found.setdefault(trial.lesson, why)
    return found


def why_nothing(
    learning: Learning,
    facts: Iterable[Facts],
    cited: Collection[str],
    undone: Collection[str] = (),
    opposed: Collection[str] = (),
) -> dict[str, str]:
    """Return rollout id → why no gradient cites it, one sentence each.

    `undone` has the sentences of lessons that hold and stay away because somebody undid them, `opposed` of
    those that contradict what a person wrote.
    """
    away = {*undone, *opposed}
    standing = [learned for learned in learning.lessons if learned.lesson.sentence() not in away]
    supporting = {i for learned in standing for i in learned.support}
    removed = {i for learned in learning.lessons for i in learned.support} - supporting
    denied = {
        i for learned in learning.lessons if learned.lesson.sentence() in opposed for i in learned.support
    }
    bench = learning.bench
    if bench is None:
        return {}
    position = {r.id: at for at, r in enumerate(bench.corpus.rollouts)}
    outcomes: dict[str, set[bool]] = {}
    for f in facts:
        outcomes.setdefault(f.case, set()).add(f.failed)
    tried, by_chance = _shown(learning)
    found: dict[str, str] = {}
    for f in facts:
        if f.id in cited:
            continue
        if not f.shows_the_agent:
            found[f.id] = UNSEEN if f.events else "it has no messages"
        elif f.id in supporting:
            found[f.id] = "what it shows stands in the experiences already"
        elif f.id in removed & denied:
            found[f.id] = f"the lesson that it supports {OPPOSED}"
        elif f.id in removed:
            found[f.id] = "the lesson that it supports was undone here"
        elif not f.calls or not f.scored:
            found[f.id] = UNSCORED if f.calls else "it has no tool call"
        else:
            at = position[f.id]
            found[f.id] = _candidates(tried[at], by_chance[at], has_contrast=len(outcomes[f.case]) > 1)
    return found


def _shown(learning: Learning) -> tuple[list[int], list[int]]:
    """Return per rollout how many dropped candidates it spoke for, and how many of them chance explains."""
    bench = learning.bench
    if bench is None:
        return [], []
    rows: dict[bool, list[int]] = {True: [], False: []}
    for trial, why in learning.dropped:
        bad = bench.bad[trial.outcome]
        spoke = (trial.judged.broke & bad) | (trial.judged.kept & ~bad)
        rows[why == "chance does as well"].append(spoke)
    by_chance, others = (tally(rows[kind], len(bench.cases)) for kind in (True, False))
    return [a + b for a, b in zip(by_chance, others, strict=True)], by_chance


def _candidates(tried: int, by_chance: int, *, has_contrast: bool) -> str:
    if not tried:
        return "nothing that it did was done, and left, in enough cases" + (
            "" if has_contrast else "; the case has no contrast"
        )
    if left := tried - by_chance:
        return f"its candidates did not hold on left-out cases, or others explain them ({left})"
    contrast = "" if has_contrast else "; all trials of its case ended alike"
    return f"chance does as well as its candidates ({tried}){contrast}"


def _row(learned: Learned) -> dict[str, JsonValue]:
    return {
        "lesson": learned.lesson.sentence(),
        "family": learned.lesson.family,
        "outcome": learned.outcome,
        "support": len(learned.support),
        "cases": learned.cases,
        FAILED: _table(learned.left_out_failed),
        "left_out": _table(learned.left_out),
    }


def _table(table: Table) -> dict[str, JsonValue]:
    return {**table._asdict(), "difference": interval(table)}
