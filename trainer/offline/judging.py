"""Judges many lessons at once. For conditions: the verdicts of `Avoid.judge`, from bit sets over calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.offline.grammar import Avoid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.offline.condition import Atom, Condition
    from trainer.offline.corpus import Corpus
    from trainer.offline.grammar import Lesson

CODES = {"violates": 1.0, "follows": 0.0, "silent": -1.0}
"""Verdicts as numbers."""


def judge_all(corpus: Corpus, lessons: Sequence[Lesson]) -> dict[Lesson, tuple[float, ...]]:
    """Return lesson → verdict per rollout (1 broke it, 0 kept it, -1 does not apply)."""
    judges: dict[str, _Decisions] = {}
    found: dict[Lesson, tuple[float, ...]] = {}
    for lesson in lessons:
        if isinstance(lesson, Avoid):
            if lesson.tool not in judges:
                judges[lesson.tool] = _Decisions(corpus, lesson.tool)
            found[lesson] = judges[lesson.tool].verdicts(lesson)
        else:
            found[lesson] = tuple([CODES[lesson.judge(r)] for r in corpus.rollouts])
    return found


class _Decisions:
    """Bit n of a set is the n-th accepted call of the tool, or the n-th object that a key names."""

    def __init__(self, corpus: Corpus, tool: str) -> None:
        self._rollouts = corpus.rollouts
        self._calls = [(r, c.at) for r in corpus.rollouts for c in r.of(tool) if not c.refused]
        self._of_rollout = _bits([r.id for r, _ in self._calls], corpus)
        self._without = [(n, r) for n, r in enumerate(corpus.rollouts) if not r.of(tool)]
        self._atoms: dict[Atom, tuple[int, int]] = {}
        self._kept: dict[tuple[str, Condition], frozenset[int]] = {}

    def verdicts(self, lesson: Avoid) -> tuple[float, ...]:
        """Return the verdict of each rollout."""
        both, no = ~0, 0
        for atom in lesson.condition:
            true, false = self._atom(atom)
            both &= true
            no |= false
        result = [-1.0] * len(self._rollouts)
        for n, bits in self._of_rollout.items():
            if bits & both:
                result[n] = 1.0
            elif bits & no:
                result[n] = 0.0
        key, said = lesson.on_objects
        for n in self._refrained(key, said) if key else ():
            result[n] = 0.0
        return tuple(result)

    def _atom(self, atom: Atom) -> tuple[int, int]:
        """Return the calls for which an atom holds, and those for which it does not."""
        if atom not in self._atoms:
            judged = [r.holds((atom,), at) for r, at in self._calls]
            true = sum(1 << n for n, held in enumerate(judged) if held is True)
            false = sum(1 << n for n, held in enumerate(judged) if held is False)
            self._atoms[atom] = true, false
        return self._atoms[atom]

    def _refrained(self, key: str, said: Condition) -> frozenset[int]:
        """Return the rollouts that read such an object and did not call the tool."""
        if (key, said) not in self._kept:
            self._kept[key, said] = frozenset(n for n, r in self._without if r.met(said, key))
        return self._kept[key, said]


def _bits(owners: Sequence[str], corpus: Corpus) -> dict[int, int]:
    """Return position of the rollout → set of its calls."""
    positions = {r.id: n for n, r in enumerate(corpus.rollouts)}
    found: dict[int, int] = {}
    for n, owner in enumerate(owners):
        found[positions[owner]] = found.get(positions[owner], 0) | 1 << n
    return found
