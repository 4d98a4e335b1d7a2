"""From facts to lessons: what is tried, what holds, and what is left out for which reason.

A candidate becomes a lesson when all of this is so:

1. It scores above the level that chance reaches `ALLOWED` times per run over all candidates of its group (see
   `stats.threshold`). In all groups together: 0.13 false lessons per run where nothing is true.
2. Better lessons (same tool, or same reason of failure) do not explain it: it still scores without the
   rollouts that broke those.
3. It holds on left-out cases: mined on nine tenths of the cases, judged on the rest, pooled over the folds.
   The pooled score is one-sidedly significant at five percent, and at least three cases broke it.
4. Those that broke it failed more often than those that kept it, also in plain failure: the 80 % interval of
   the difference is above zero. Or, where a criterion is what they failed: those that kept it met it more
   often, and did not clearly fail more for other reasons. Where the outcome is a refusal the difference must
   not be below zero, and nine of ten such calls must earn the refusal.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.offline.bench import MINED_SCORE, RUNS, Bench, Trial
from trainer.offline.corpus import MIN_CASES, Corpus
from trainer.offline.grammar import Avoid, DoCall, Refused
from trainer.offline.outcomes import FAILED, LEFT_OUT
from trainer.stats import Table, difference_interval, exact_p, threshold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from trainer.offline.facts import Facts
    from trainer.offline.grammar import Lesson

ALLOWED = {
    "reward": 0.03,
    "reward, decisions": 0.02,
    "reward, fine decisions": 0.02,
    "labels": 0.03,
    "refusals": 0.03,
    "wanted": 0.02,
}
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
    """Return the lessons of a set of rollouts; a pure function of the set.

    A rollout that shows nothing of its agent counts for no lesson: it does not say that a call was left out.
    """
    return learn_from(Bench(Corpus.of([f for f in facts if f.shows_the_agent])))


def learn_from(bench: Bench) -> Learning:
    """Return the lessons of a bench, whose outcomes may be shuffled to see what chance would write."""
    limits = {name: threshold(found, RUNS, ALLOWED[name]) for name, found in bench.chance.items()}
    passed = [trial for trial in bench.trials if trial.score > limits[trial.group]]
    dropped = [(trial, "chance does as well") for trial in bench.trials if trial.score <= limits[trial.group]]
    kept: list[Learned] = []
    explained: list[Trial] = []
    simple = {(t.lesson, t.outcome): t for t in passed}
    tried = Counter(map(_size, bench.trials))
    for trial in sorted(passed, key=lambda t: _rank(bench, t, tried)):
        why, learned = _examined(bench, trial, simple, explained)
        if learned is None:
            dropped.append((trial, why))
        else:
            kept.append(learned)
            explained.append(trial)
    tested = {t.lesson for t in bench.trials}
    untested = Counter(lesson.family for lesson in bench.lessons if lesson not in tested)
    return Learning(tuple(kept), tuple(dropped), dict(sorted(untested.items())), bench)


def _rank(bench: Bench, trial: Trial, tried: Mapping[tuple[str, str, int], int]) -> tuple[object, ...]:
    """Return the order of examination: what explains more of its outcome comes first.

    Conditions are compared among the calls alone: not calling counts as keeping a condition on what was read,
    and says nothing about one on the arguments. The trials of a case are no independent witnesses of a
    condition, so that cases are counted; and the more conditions of its size were tried, the more must a
    condition explain.
    """
    lesson = trial.lesson
    if not isinstance(lesson, Avoid | Refused):
        return False, -trial.score, 0, 0.0, lesson.sentence(), trial.outcome
    called = bench.called(lesson.tool)
    by_case = exact_p([bench.case_table(trial.judged, trial.outcome, called)]) * tried[_size(trial)]
    by_call = exact_p([bench.table(trial.judged, trial.outcome, called)])
    return True, _rounded(by_case), len(lesson.condition), _rounded(by_call), lesson.sentence(), trial.outcome


def _size(trial: Trial) -> tuple[str, str, int]:
    condition = trial.lesson.condition if isinstance(trial.lesson, Avoid | Refused) else ()
    return trial.lesson.tool, trial.outcome, len(condition)


def _rounded(number: float) -> float:
    return float(f"{number:.6g}")


def _examined(
    bench: Bench, trial: Trial, passed: Mapping[tuple[Lesson, str], Trial], explained: Sequence[Trial]
) -> tuple[str, Learned | None]:
    """Return the lesson, or why it is none."""
    if why := (
        _overdone(bench, trial, passed) or _needless(bench, trial) or _redundant(bench, trial, explained)
    ):
        return why, None
    only = bench.left_out(trial)
    table = bench.table(trial.judged, trial.outcome, only)
    failed = bench.table(trial.judged, FAILED, only)
    if why := _on_left_out(bench, trial, only) or _harmless(bench, trial, only):
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
        both = bench.table(trial.judged, trial.outcome)
        alone = bench.table(simpler.judged, trial.outcome)
        rest = Table(both.broke_bad, both.broke, alone.broke_bad - both.broke_bad, alone.broke - both.broke)
        if exact_p([rest]) > _NEEDED:
            return "a simpler lesson says it"
    return ""


def _needless(bench: Bench, trial: Trial) -> str:
    """Say so where cases are solved without a call that nobody, ever, should end without."""
    if not isinstance(trial.lesson, DoCall):
        return ""
    without = trial.judged.broke & ~bench.bad[FAILED] & bench.scored
    solved = [case for case, mask in bench.of_case.items() if mask & without]
    return "cases are solved without it" if len(solved) >= MIN_CASES else ""


def _redundant(bench: Bench, trial: Trial, explained: Sequence[Trial]) -> str:
    if any(t.lesson == trial.lesson for t in explained):
        return "kept already for another outcome"
    others = [t for t in explained if _explains(t, trial)]
    rest = -1
    for other in others:
        same = _kind(other) == _kind(trial)
        rest &= ~(bench.suspects(other.judged) if same else other.judged.broke)
    if others and (
        bench.table(trial.judged, trial.outcome, rest).difference <= 0
        or bench.score(trial, rest) < MINED_SCORE
    ):
        return "a better lesson explains it"
    return ""


def _explains(better: Trial, trial: Trial) -> bool:
    """Say whether one lesson may be the reason of what another is about: any criterion is one of failing."""
    if _kind(better) == _kind(trial):
        return True
    if trial.outcome == FAILED:
        return better.outcome.startswith(f"{FAILED} ")
    return better.outcome == trial.outcome


def _kind(trial: Trial) -> tuple[str, str]:
    return trial.lesson.tool, trial.lesson.family


def _on_left_out(bench: Bench, trial: Trial, only: int) -> str:
    broken_in = [case for case, mask in bench.of_case.items() if mask & only & trial.judged.broke]
    if len(broken_in) < MIN_CASES or bench.score(trial, only) < MINED_SCORE:
        return "does not hold on left-out cases"
    return ""


def _harmless(bench: Bench, trial: Trial, only: int) -> str:
    table = bench.table(trial.judged, trial.outcome, only)
    failed = bench.table(trial.judged, FAILED, only)
    if trial.lesson.family == "refused":
        if table.broke_bad < _SURE * table.broke:
            return "the tool does not always refuse it"
        return "breaking it does no harm" if failed.difference < 0 else ""
    if difference_interval(failed, _GATE)[0] > 0 or _fails_for_less(bench, trial, table, only):
        return ""
    return "breaking it does not lead to failure"


def _fails_for_less(bench: Bench, trial: Trial, table: Table, only: int) -> bool:
    """Say, of a criterion, whether those that kept it met it more often and did not fail more otherwise.

    Where nearly everything fails for many reasons at once, plain failure tells no lesson from another.
    """
    if trial.outcome in {FAILED, LEFT_OUT}:
        return False
    others = bench.counted(trial.judged, bench.fails_otherwise(trial.outcome), only)
    return difference_interval(table, _GATE)[0] > 0 and difference_interval(others, _GATE)[1] >= 0


def _learned(bench: Bench, trial: Trial, table: Table, failed: Table) -> Learned:
    bad, lost = bench.bad[trial.outcome], bench.bad[FAILED]
    chosen = (trial.judged.broke & bad) | (trial.judged.kept & ~lost)
    support = [r for n, r in enumerate(bench.corpus.rollouts) if chosen >> n & 1]
    return Learned(
        lesson=trial.lesson,
        outcome=trial.outcome,
        score=trial.score,
        support=tuple(sorted(r.id for r in support)),
        cases=len({r.case for r in support}),
        left_out=table,
        left_out_failed=failed,
    )
