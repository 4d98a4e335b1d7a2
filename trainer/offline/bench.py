"""All candidates against all rollouts: who broke what, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from trainer.offline.candidates import candidates
from trainer.offline.corpus import MIN_CASES
from trainer.offline.folds import FOLDS, fold_of
from trainer.offline.judging import Judged, bits, judge_all
from trainer.offline.outcomes import Columns, columns, compares_cases, group_of, outcomes_for, tells
from trainer.stats import Chance, Floats, Table, largest, unpacked, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trainer.offline.corpus import Corpus
    from trainer.offline.grammar import Lesson

MINED_SCORE = 1.645
"""What a lesson must score on the training cases of a fold: one-sided five percent."""
RUNS = 600
"""Runs of chance."""
_CHUNK = 1024  # candidates that are tested at once


@dataclass(frozen=True)
class Trial:
    """One candidate tested on one outcome."""

    lesson: Lesson
    outcome: str
    group: str
    """The candidates that it competes with for being written by chance."""
    judged: Judged
    """Who broke and who kept it, of those that tell."""
    told: int
    """The rollouts that could have come out so at all: only those are compared, and shuffled by chance."""
    score: float


class _Kind(NamedTuple):
    """What is tested together."""

    group: str
    outcome: str
    compare: bool
    tool: str


@dataclass(frozen=True)
class Bench:
    """A corpus with its candidates and outcomes."""

    corpus: Corpus

    @cached_property
    def columns(self) -> Columns:
        """Outcome → whether each rollout came out so."""
        return columns(self.corpus)

    @cached_property
    def bad(self) -> dict[str, int]:
        """Outcome → the rollouts that came out so."""
        return {name: bits(column) for name, column in self.columns.items()}

    @cached_property
    def scored(self) -> int:
        """The rollouts that somebody scored."""
        return bits(r.scored for r in self.corpus.rollouts)

    @cached_property
    def lessons(self) -> list[Lesson]:
        """All candidates."""
        return candidates(self.corpus)

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """The case of each rollout."""
        return tuple(r.case for r in self.corpus.rollouts)

    @cached_property
    def of_case(self) -> dict[str, int]:
        """Case → its rollouts."""
        found: dict[str, int] = {}
        for n, case in enumerate(self.cases):
            found[case] = found.get(case, 0) | 1 << n
        return found

    @cached_property
    def judged(self) -> dict[Lesson, Judged]:
        """Lesson → who broke it and who kept it."""
        return judge_all(self.corpus, self.lessons)

    @property
    def trials(self) -> list[Trial]:
        """Every supported candidate with every outcome it may be tested on; of equal ones the shortest."""
        return self._tests[0]

    @property
    def chance(self) -> dict[str, list[Floats]]:
        """Group → the largest scores of its candidates under chance, from RUNS runs."""
        return self._tests[1]

    @cached_property
    def _tests(self) -> tuple[list[Trial], dict[str, list[Floats]]]:
        wanted: dict[_Kind, list[Lesson]] = {}
        for lesson in sorted(self.lessons, key=lambda lesson: (len(lesson.sentence()), lesson.sentence())):
            for outcome in outcomes_for(lesson, self.columns):
                kind = _Kind(group_of(lesson, outcome), outcome, compares_cases(lesson), lesson.tool)
                wanted.setdefault(kind, []).append(lesson)
        trials: list[Trial] = []
        chance: dict[str, list[Floats]] = {}
        for kind in sorted(wanted):
            for tested, by_chance in self._tested(kind, wanted[kind]):
                trials += tested
                chance.setdefault(kind.group, []).append(by_chance)
        return trials, chance

    def _tested(self, kind: _Kind, lessons: Sequence[Lesson]) -> Iterator[tuple[list[Trial], Floats]]:
        told = self._told(kind)
        distinct: dict[Judged, Lesson] = {}
        for lesson in lessons:
            judged = self.judged[lesson].among(told)
            if min(n.bit_count() for n in (judged.broke & self.bad[kind.outcome], judged.kept)) > 0:
                distinct.setdefault(judged, lesson)
        told &= self._union(distinct)
        rows = list(distinct.items())
        for start in range(0, len(rows), _CHUNK):
            yield self._scored(kind, told, rows[start : start + _CHUNK])

    @staticmethod
    def _union(judged: dict[Judged, Lesson]) -> int:
        found = 0
        for one in judged:
            found |= one.applies
        return found

    def _told(self, kind: _Kind) -> int:
        """Return the rollouts that tell about an outcome; of a decision only those where it was at stake.

        What was read for another purpose, in cases in which nobody called the tool, says nothing about it.
        """
        told = self._telling(kind.outcome, kind.tool)
        if "decisions" not in kind.group:
            return told
        called = self.called(kind.tool)
        return told & sum(mask for mask in self.of_case.values() if mask & called)

    def _telling(self, outcome: str, tool: str) -> int:
        known = self._tells.get((outcome, tool))
        if known is None:
            known = bits(tells(r, outcome, tool) for r in self.corpus.rollouts)
            self._tells[outcome, tool] = known
        return known

    @cached_property
    def _tells(self) -> dict[tuple[str, str], int]:
        return {}

    def _scored(
        self, kind: _Kind, told: int, rows: Sequence[tuple[Judged, Lesson]]
    ) -> tuple[list[Trial], Floats]:
        chance, verdicts, column = self._arrays([j for j, _ in rows], kind.outcome, told, RUNS)
        enough = chance.supported(verdicts, column, MIN_CASES)
        chosen = [row for row, ok in zip(rows, enough, strict=True) if ok]
        scores, by_chance = chance.scores(verdicts[enough], column, compare_cases=kind.compare)
        trials = [
            Trial(lesson, kind.outcome, kind.group, judged, told, float(score))
            for (judged, lesson), score in zip(chosen, scores, strict=True)
        ]
        return trials, largest(by_chance)

    def _arrays(
        self, rows: Sequence[Judged], outcome: str, told: int, runs: int
    ) -> tuple[Chance, Floats, Floats]:
        """Return chance, verdicts and the outcome over some of the rollouts."""
        width = len(self.cases)
        at = unpacked([told], width)[0] > 0
        broke, kept = unpacked([j.broke for j in rows], width), unpacked([j.kept for j in rows], width)
        verdicts = (2 * broke + kept - 1)[:, at]
        cases = tuple(case for case, chosen in zip(self.cases, at, strict=True) if chosen)
        return _chance(cases, runs), verdicts, unpacked([self.bad[outcome]], width)[0][at]

    def called(self, tool: str) -> int:
        """Return the rollouts that have an accepted call of a tool."""
        known = self._called.get(tool)
        if known is None:
            known = bits(any(not c.refused for c in r.of(tool)) for r in self.corpus.rollouts)
            self._called[tool] = known
        return known

    @cached_property
    def _called(self) -> dict[str, int]:
        return {}

    def table(self, judged: Judged, outcome: str, only: int = -1) -> Table:
        """Return broken and kept against one outcome, over the rollouts that tell, or those in `only`."""
        told = only if outcome.startswith("refused ") else only & self.scored
        return self.counted(judged, self.bad[outcome], told)

    def fails_otherwise(self, outcome: str) -> int:
        """Return the rollouts that failed a criterion other than the one that the outcome is about."""
        name = outcome.partition(" ")[2]
        return bits(any(bad for k, bad in r.criteria.items() if k != name) for r in self.corpus.rollouts)

    @staticmethod
    def counted(judged: Judged, bad: int, only: int = -1) -> Table:
        """Return broken and kept against a set of rollouts that came out badly."""
        broke, kept = judged.broke & only, judged.kept & only
        return Table((broke & bad).bit_count(), broke.bit_count(), (kept & bad).bit_count(), kept.bit_count())

    def case_table(self, judged: Judged, outcome: str, only: int) -> Table:
        """Return the same where all rollouts of a case that broke it count as one, by their majority."""
        total = Table()
        for mask in self.of_case.values():
            if mask & only & judged.applies:
                one = self.table(judged, outcome, mask & only)
                bad, fine = 2 * one.broke_bad > one.broke, 2 * one.kept_bad > one.kept
                total = total.plus(Table(int(bad), int(one.broke > 0), int(fine), int(one.kept > 0)))
        return total

    def suspects(self, judged: Judged) -> int:
        """Return the rollouts that broke a lesson, with those of the same cases that do not tell.

        What one trial has read holds in the next one too, which did not look.
        """
        found = judged.broke
        for mask in self.of_case.values():
            if mask & judged.broke:
                found |= mask & ~judged.applies
        return found

    def score(self, trial: Trial, only: int, cases: int = 0) -> float:
        """Return the score of a trial on some of the rollouts; 0 where fewer `cases` support it."""
        chosen = only & trial.told
        if not chosen:
            return 0.0
        chance, verdicts, column = self._arrays([trial.judged], trial.outcome, chosen, 1)
        if not chance.supported(verdicts, column, cases)[0]:
            return 0.0
        compare = compares_cases(trial.lesson)
        return float(chance.scores(verdicts, column, compare_cases=compare, chance=False)[0][0])

    def left_out(self, trial: Trial) -> int:
        """Return the rollouts of the folds whose other folds, by themselves, would have taught the lesson."""
        found = 0
        for fold in range(FOLDS):
            inside = sum(mask for case, mask in self.of_case.items() if fold_of(case) == fold)
            if inside and self.score(trial, ~inside, MIN_CASES - 1) >= MINED_SCORE:
                found |= inside
        return found


@lru_cache(maxsize=64)
def _chance(cases: tuple[str, ...], runs: int) -> Chance:
    numbers = {case: n for n, case in enumerate(sorted(set(cases)))}
    return Chance(whole([numbers[c] for c in cases]), runs)
