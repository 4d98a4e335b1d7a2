"""From facts to lessons: what is tried, what holds, and what is left out for which reason.

A candidate becomes a lesson when all of this is so:

1. It scores above the level that chance reaches `ALLOWED` times per run over all candidates of its group (see
   `stats.threshold`). In all groups together: 0.13 false lessons per run where nothing is true.
2. Better lessons (same tool, or same reason of failure) do not explain it: it still scores without the
   rollouts that broke those.
3. It holds on left-out cases: mined on nine tenths of the cases, judged on the rest, pooled over the folds.
   The pooled score is one-sidedly significant at five percent, and at least three cases broke it.
4. Those that broke it failed more often than those that kept it, also in plain failure: the 80 % interval of
   the difference is above zero. Where the outcome is a refusal the difference must not be below zero, and
   nine of ten such calls must earn the refusal.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.offline.bench import MINED_SCORE, Bench, Trial, failed_table
from trainer.offline.corpus import MIN_CASES, Corpus
from trainer.offline.grammar import Avoid, DoCall, Refused
from trainer.offline.outcomes import FAILED, WANTED
from trainer.stats import Table, difference_interval, exact_p, threshold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from trainer.offline.facts import Facts
    from trainer.offline.grammar import Lesson

ALLOWED = {"reward": 0.03, "reward, decisions": 0.04, "labels": 0.03, "refusals": 0.03, "wanted": 0.02}
"""False lessons per run that each group of candidates may write."""
_SURE = 0.9  # share of the calls of a kind that a tool refuses, where it refuses that kind
_GATE = 0.8
_NEEDED = 0.2  # a second condition that improves the first by less than this chance is left away


@dataclass(frozen=True)
class Learned:
    """A lesson that holds, with its evidence."""

    lesson: Lesson
    outcome: str
    score: float
    support: tuple[str, ...]
    """Rollouts that broke it and came out so, and rollouts that kept it and passed; sorted ids."""
    cases: int
    """How many cases the support is from."""
    left_out: Table
    """The outcome, on left-out cases."""
    left_out_failed: Table
    """Plain failure, on left-out cases."""


@dataclass(frozen=True)
class Learning:
    """What a set of rollouts taught."""

    lessons: tuple[Learned, ...] = ()
    dropped: tuple[tuple[Trial, str], ...] = ()
    """Candidates that were tested, and why they are no lessons."""
    untested: dict[str, int] = field(default_factory=dict)
    """Family → candidates with too little support to be tested."""
    bench: Bench | None = None


def learn(facts: Iterable[Facts]) -> Learning:
    """Return the lessons of a set of scored rollouts; a pure function of the set."""
    return learn_from(Bench(Corpus.of(list(facts))))


def learn_from(bench: Bench) -> Learning:
    """Return the lessons of a bench, whose outcomes may be shuffled to see what chance would write."""
    groups: dict[str, list[Trial]] = {}
    for trial in bench.trials:
        groups.setdefault(_group(trial), []).append(trial)
    passed: list[Trial] = []
    dropped: list[tuple[Trial, str]] = []
    for name, trials in sorted(groups.items()):
        limit = threshold([t.chance[None, :] for t in trials], ALLOWED[name])
        for trial in trials:
            if trial.score > limit:
                passed.append(trial)
            else:
                dropped.append((trial, "chance does as well"))
    kept: list[Learned] = []
    explained: list[Trial] = []
    simple = {(t.lesson, t.outcome): t for t in passed}
    for trial in sorted(passed, key=lambda t: _rank(bench, t)):
        why, learned = _examined(bench, trial, simple, explained)
        if learned is None:
            dropped.append((trial, why))
        else:
            kept.append(learned)
            explained.append(trial)
    tested = {t.lesson for t in bench.trials}
    untested = Counter(lesson.family for lesson in bench.lessons if lesson not in tested)
    return Learning(tuple(kept), tuple(dropped), dict(sorted(untested.items())), bench)


def _group(trial: Trial) -> str:
    if trial.lesson.family == "refused":
        return "refusals"
    if trial.lesson.family in WANTED:
        return "wanted"
    name = "reward" if trial.outcome.split(" ", 1)[0] == FAILED else "labels"
    return f"{name}, decisions" if trial.lesson.family == "decision" else name


def _rank(bench: Bench, trial: Trial) -> tuple[bool, float, str, str]:
    """Return the order of examination: what explains more of its outcome comes first.

    Conditions are compared among the calls alone. Their scores are not comparable: not calling counts as
    keeping a condition on what was read, and says nothing about one on the arguments.
    """
    lesson = trial.lesson
    size = -trial.score
    has_condition = isinstance(lesson, Avoid | Refused)
    if has_condition:
        size = exact_p([bench.table(trial.verdicts, trial.outcome, bench.called(lesson.tool))])
    return has_condition, float(f"{size:.6g}"), lesson.sentence(), trial.outcome


def _examined(
    bench: Bench, trial: Trial, passed: Mapping[tuple[Lesson, str], Trial], explained: Sequence[Trial]
) -> tuple[str, Learned | None]:
    """Return the lesson, or why it is none."""
    if why := (
        _overdone(bench, trial, passed) or _needless(bench, trial) or _redundant(bench, trial, explained)
    ):
        return why, None
    only = bench.left_out(trial)
    table = bench.table(trial.verdicts, trial.outcome, only)
    failed = failed_table(bench, trial, only)
    if why := _on_left_out(bench, trial, only) or _harmless(trial, table, failed):
        return why, None
    return "", _learned(bench, trial, table, failed)


def _overdone(bench: Bench, trial: Trial, passed: Mapping[tuple[Lesson, str], Trial]) -> str:
    """Say so where a condition has an atom without which it would be as bad, and simpler."""
    lesson = trial.lesson
    if not isinstance(lesson, Avoid) or len(lesson.condition) < 2:
        return ""
    for atom in lesson.condition:
        simpler = passed.get((Avoid(lesson.tool, (atom,)), trial.outcome))
        if simpler is None:
            continue
        both = bench.table(trial.verdicts, trial.outcome)
        alone = bench.table(simpler.verdicts, trial.outcome)
        rest = Table(both.broke_bad, both.broke, alone.broke_bad - both.broke_bad, alone.broke - both.broke)
        if exact_p([rest]) > _NEEDED:
            return "a simpler lesson says it"
    return ""


def _needless(bench: Bench, trial: Trial) -> str:
    """Say so where cases are solved without a call that nobody, ever, should end without."""
    if not isinstance(trial.lesson, DoCall):
        return ""
    rows = zip(bench.cases, trial.verdicts, bench.columns[FAILED], strict=True)
    solved = {case for case, verdict, failed in rows if verdict == 1 and not failed}
    return "cases are solved without it" if len(solved) >= MIN_CASES else ""


def _redundant(bench: Bench, trial: Trial, explained: Sequence[Trial]) -> str:
    if any(t.lesson == trial.lesson for t in explained):
        return "kept already for another outcome"
    kind = (trial.lesson.tool, trial.lesson.family)
    others = [
        t
        for t in explained
        if (t.lesson.tool, t.lesson.family) == kind or t.outcome == trial.outcome != FAILED
    ]
    rest = [not any(t.verdicts[i] == 1 for t in others) for i in range(len(trial.verdicts))]
    if others and (
        bench.table(trial.verdicts, trial.outcome, rest).difference <= 0
        or bench.score(trial, rest) < MINED_SCORE
    ):
        return "a better lesson explains it"
    return ""


def _on_left_out(bench: Bench, trial: Trial, only: Sequence[bool]) -> str:
    broken_in = {c for c, v, o in zip(bench.cases, trial.verdicts, only, strict=True) if o and v == 1}
    if len(broken_in) < MIN_CASES or bench.score(trial, only) < MINED_SCORE:
        return "does not hold on left-out cases"
    return ""


def _harmless(trial: Trial, table: Table, failed: Table) -> str:
    if trial.lesson.family == "refused":
        if table.broke_bad < _SURE * table.broke:
            return "the tool does not always refuse it"
        return "breaking it does no harm" if failed.difference < 0 else ""
    return "breaking it does not lead to failure" if difference_interval(failed, _GATE)[0] <= 0 else ""


def _learned(bench: Bench, trial: Trial, table: Table, failed: Table) -> Learned:
    rows = zip(
        bench.corpus.rollouts,
        trial.verdicts,
        bench.columns[trial.outcome],
        bench.columns[FAILED],
        strict=True,
    )
    support = [r for r, v, bad, lost in rows if (v == 1 and bad) or (v == 0 and not lost)]
    return Learned(
        lesson=trial.lesson,
        outcome=trial.outcome,
        score=trial.score,
        support=tuple(sorted(r.id for r in support)),
        cases=len({r.case for r in support}),
        left_out=table,
        left_out_failed=failed,
    )
