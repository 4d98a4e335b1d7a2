"""All candidates against all rollouts: who broke what, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

from trainer.offline.candidates import candidates
from trainer.offline.corpus import MIN_CASES
from trainer.offline.folds import FOLDS, fold_of
from trainer.offline.judging import judge_all
from trainer.offline.outcomes import FAILED, columns, compares_cases, outcomes_for, tells
from trainer.stats import Chance, Floats, Table, floats, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainer.offline.corpus import Corpus
    from trainer.offline.grammar import Lesson
from trainer.offline.outcomes import Columns

MINED_SCORE = 1.645
"""What a lesson must score on the training cases of a fold: one-sided five percent."""


@dataclass(frozen=True)
class Trial:
    """One candidate tested on one outcome."""

    lesson: Lesson
    outcome: str
    verdicts: tuple[float, ...]
    """Per rollout: 1 broke it, 0 kept it, -1 does not apply."""
    told: tuple[bool, ...]
    """Per rollout: could it have come out so at all? Only those are compared, and shuffled by chance."""
    score: float
    chance: Floats
    """Scores under chance, one per run."""


@dataclass(frozen=True)
class Bench:
    """A corpus with its candidates and outcomes."""

    corpus: Corpus

    @cached_property
    def columns(self) -> Columns:
        """Outcome → whether each rollout came out so."""
        return columns(self.corpus)

    @cached_property
    def lessons(self) -> list[Lesson]:
        """All candidates."""
        return candidates(self.corpus)

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """The case of each rollout."""
        return tuple(r.case for r in self.corpus.rollouts)

    @cached_property
    def verdicts(self) -> dict[Lesson, tuple[float, ...]]:
        """Lesson → verdict per rollout."""
        return judge_all(self.corpus, self.lessons)

    @cached_property
    def trials(self) -> list[Trial]:
        """Every supported candidate with every outcome it may be tested on; of equal ones the shortest."""
        wanted: dict[tuple[str, bool, str], list[Lesson]] = {}
        for lesson in sorted(self.lessons, key=lambda lesson: (len(lesson.sentence()), lesson.sentence())):
            for outcome in outcomes_for(lesson, self.columns):
                wanted.setdefault((outcome, compares_cases(lesson), lesson.tool), []).append(lesson)
        return [trial for key in sorted(wanted) for trial in self._tested(*key, wanted[key])]

    def _tested(self, outcome: str, compare: bool, tool: str, lessons: Sequence[Lesson]) -> Iterable[Trial]:  # noqa: FBT001
        told = tuple([tells(r, outcome, tool) for r in self.corpus.rollouts])
        chance = _chance(_chosen(self.cases, told))
        column = floats(_chosen(self.columns[outcome], told))
        if not any(told):
            return
        rows = [_chosen(self.verdicts[lesson], told) for lesson in lessons]
        distinct: dict[tuple[float, ...], Lesson] = {}
        for row, lesson, enough in zip(
            rows, lessons, chance.supported(floats(rows), column, MIN_CASES), strict=True
        ):
            if enough:
                distinct.setdefault(row, lesson)
        if not distinct:
            return
        scores, by_chance = chance.scores(floats(list(distinct)), column, compare_cases=compare)
        for at, lesson in enumerate(distinct.values()):
            verdicts = tuple([v if t else -1.0 for v, t in zip(self.verdicts[lesson], told, strict=True)])
            yield Trial(lesson, outcome, verdicts, told, float(scores[at]), by_chance[at])

    def called(self, tool: str) -> list[bool]:
        """Return which rollouts have an accepted call of a tool."""
        return [any(not c.refused for c in r.of(tool)) for r in self.corpus.rollouts]

    def table(self, verdicts: Sequence[float], outcome: str, only: Sequence[bool] | None = None) -> Table:
        """Return broken and kept against one outcome, over all rollouts or those that `only` names."""
        chosen = only if only is not None else [True] * len(verdicts)
        pairs = [
            (v, o) for v, o, c in zip(verdicts, self.columns[outcome], chosen, strict=True) if c and v >= 0
        ]
        broke = [o for v, o in pairs if v == 1]
        kept = [o for v, o in pairs if v == 0]
        return Table(sum(broke), len(broke), sum(kept), len(kept))

    def score(self, trial: Trial, only: Sequence[bool], cases: int = 0) -> float:
        """Return the score of a trial on some of the rollouts; 0 where fewer `cases` support it."""
        at = [i for i, chosen in enumerate(only) if chosen and trial.told[i]]
        if not at:
            return 0.0
        chance = _chance(tuple(self.cases[i] for i in at), runs=1)
        rows = floats([[trial.verdicts[i] for i in at]])
        column = floats([self.columns[trial.outcome][i] for i in at])
        if not chance.supported(rows, column, cases)[0]:
            return 0.0
        scores, _ = chance.scores(rows, column, compare_cases=compares_cases(trial.lesson))
        return float(scores[0])

    def left_out(self, trial: Trial) -> list[bool]:
        """Return the rollouts of the folds whose other folds, by themselves, would have taught the lesson."""
        folds = [fold_of(case) for case in self.cases]
        mined = {
            fold
            for fold in range(FOLDS)
            if self.score(trial, [f != fold for f in folds], MIN_CASES - 1) >= MINED_SCORE
        }
        return [f in mined for f in folds]


_T = TypeVar("_T")


def _chosen(values: Sequence[_T], flags: Sequence[bool]) -> tuple[_T, ...]:
    return tuple([v for v, chosen in zip(values, flags, strict=True) if chosen])


@lru_cache(maxsize=32)
def _chance(cases: tuple[str, ...], runs: int = 600) -> Chance:
    numbers = {case: n for n, case in enumerate(sorted(set(cases)))}
    return Chance(whole([numbers[c] for c in cases]), runs)


def failed_table(bench: Bench, trial: Trial, only: Sequence[bool]) -> Table:
    """Return broken and kept against plain failure, over all rollouts to which the lesson applies."""
    return bench.table(bench.verdicts[trial.lesson], FAILED, only)
