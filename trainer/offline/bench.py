"""All candidates against all rollouts: who broke what, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from trainer.offline.candidates import candidates
from trainer.offline.corpus import MIN_CASES
from trainer.offline.folds import FOLDS, fold_of
from trainer.offline.outcomes import FAILED, columns, compares_cases, is_about_calls, outcomes_for
from trainer.stats import Chance, Floats, Table, floats, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trainer.offline.corpus import Corpus
    from trainer.offline.grammar import Lesson
    from trainer.offline.outcomes import Columns

_CODES = {"violates": 1.0, "follows": 0.0, "silent": -1.0}
MINED_SCORE = 1.645
"""What a lesson must score on the training cases of a fold: one-sided five percent."""


@dataclass(frozen=True)
class Trial:
    """One candidate tested on one outcome."""

    lesson: Lesson
    outcome: str
    verdicts: tuple[float, ...]
    """Per rollout: 1 broke it, 0 kept it, -1 does not apply."""
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
    def verdicts(self) -> dict[str, tuple[float, ...]]:
        """Sentence → verdict per rollout."""
        return {
            lesson.sentence(): tuple(_CODES[lesson.judge(r)] for r in self.corpus.rollouts)
            for lesson in self.lessons
        }

    @cached_property
    def _chance(self) -> Chance:
        return _chance(self.cases)

    @cached_property
    def trials(self) -> list[Trial]:
        """Every supported candidate with every outcome it may be tested on; of equal ones the shortest."""
        wanted: dict[tuple[str, bool], list[tuple[Lesson, tuple[float, ...]]]] = {}
        for lesson in sorted(self.lessons, key=lambda lesson: (len(lesson.sentence()), lesson.sentence())):
            for outcome in outcomes_for(lesson, self.columns):
                verdicts = self.applicable(lesson, outcome)
                if self._is_supported(verdicts, outcome):
                    wanted.setdefault((outcome, compares_cases(lesson)), []).append((lesson, verdicts))
        return [trial for key in sorted(wanted) for trial in self._tested(key, wanted[key])]

    def _tested(
        self, key: tuple[str, bool], found: Sequence[tuple[Lesson, tuple[float, ...]]]
    ) -> Iterable[Trial]:
        outcome, compare = key
        distinct: dict[tuple[float, ...], Lesson] = {}
        for lesson, verdicts in found:
            distinct.setdefault(verdicts, lesson)
        rows = list(distinct)
        scores, chance = self._chance.scores(
            floats(rows), floats(self.columns[outcome]), compare_cases=compare
        )
        for at, verdicts in enumerate(rows):
            yield Trial(distinct[verdicts], outcome, verdicts, float(scores[at]), chance[at])

    def applicable(self, lesson: Lesson, outcome: str) -> tuple[float, ...]:
        """Return the verdicts; an outcome of calls says nothing about rollouts without an accepted call."""
        verdicts = self.verdicts[lesson.sentence()]
        if not is_about_calls(outcome):
            return verdicts
        return tuple(v if made else -1.0 for v, made in zip(verdicts, self._called(lesson.tool), strict=True))

    def _called(self, tool: str) -> tuple[bool, ...]:
        if tool not in self._calls:
            self._calls[tool] = tuple(any(not c.refused for c in r.of(tool)) for r in self.corpus.rollouts)
        return self._calls[tool]

    @cached_property
    def _calls(self) -> dict[str, tuple[bool, ...]]:
        return {}

    def _is_supported(self, verdicts: tuple[float, ...], outcome: str, cases: int = MIN_CASES) -> bool:
        broke = {c for c, v in zip(self.cases, verdicts, strict=True) if v == 1}
        kept = {c for c, v in zip(self.cases, verdicts, strict=True) if v == 0}
        bad = {c for c, v, o in zip(self.cases, verdicts, self.columns[outcome], strict=True) if v == 1 and o}
        return len(broke) >= cases and len(kept) >= cases and len(bad) >= cases

    def table(self, verdicts: Sequence[float], outcome: str, only: Sequence[bool] | None = None) -> Table:
        """Return broken and kept against one outcome, over all rollouts or those that `only` names."""
        chosen = only if only is not None else [True] * len(verdicts)
        pairs = [
            (v, o) for v, o, c in zip(verdicts, self.columns[outcome], chosen, strict=True) if c and v >= 0
        ]
        broke = [o for v, o in pairs if v == 1]
        kept = [o for v, o in pairs if v == 0]
        return Table(sum(broke), len(broke), sum(kept), len(kept))

    def score(self, verdicts: Sequence[float], trial: Trial, only: Sequence[bool]) -> float:
        """Return the score of a trial on some of the rollouts."""
        at = [i for i, chosen in enumerate(only) if chosen]
        if not at:
            return 0.0
        chance = _chance(tuple(self.cases[i] for i in at), runs=1)
        scores, _ = chance.scores(
            floats([[verdicts[i] for i in at]]),
            floats([self.columns[trial.outcome][i] for i in at]),
            compare_cases=compares_cases(trial.lesson),
        )
        return float(scores[0])

    def left_out(self, trial: Trial) -> list[bool]:
        """Return the rollouts of the folds whose other folds, by themselves, would have taught the lesson."""
        folds = [fold_of(case) for case in self.cases]
        mined: set[int] = set()
        for fold in range(FOLDS):
            training = [f != fold for f in folds]
            supported = self._is_supported(
                tuple(v if t else -1.0 for v, t in zip(trial.verdicts, training, strict=True)),
                trial.outcome,
                MIN_CASES - 1,
            )
            if supported and self.score(trial.verdicts, trial, training) >= MINED_SCORE:
                mined.add(fold)
        return [f in mined for f in folds]


def _chance(cases: tuple[str, ...], runs: int = 600) -> Chance:
    numbers = {case: n for n, case in enumerate(sorted(set(cases)))}
    return Chance(whole([numbers[c] for c in cases]), runs)


def failed_table(bench: Bench, trial: Trial, only: Sequence[bool]) -> Table:
    """Return broken and kept against plain failure, over all rollouts to which the lesson applies."""
    return bench.table(bench.verdicts[trial.lesson.sentence()], FAILED, only)
