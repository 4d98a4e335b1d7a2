"""Every condition under which a call may be wrong: what its arguments and the objects they name say."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from trainer.offline.condition import Atom
from trainer.offline.corpus import MIN_CASES
from trainer.offline.cuts import cut_points
from trainer.offline.situations import Situations
from trainer.stats import overlaps, whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trainer.offline.condition import Condition
    from trainer.offline.corpus import Corpus
    from trainer.offline.objects import Scalar, Term

MAX_COMPARED = 8
MAX_PAIRS = 1000
"""Conditions of two atoms that are tried per tool."""


def conditions(corpus: Corpus, tool: str) -> list[Condition]:
    """Return the conditions to try on a tool: single atoms first, then pairs, the best supported first."""
    support = _Support(corpus, tool)
    return [*((atom,) for atom in support.singles()), *support.pairs()]


class _Support:
    """The atoms that hold for calls in enough cases and fail for others. Bit n of a set is the n-th call.

    Of atoms that hold for the same calls the shortest is kept.
    """

    def __init__(self, corpus: Corpus, tool: str) -> None:
        calls = [(r, c.at) for r in corpus.rollouts for c in r.of(tool)]
        numbers = {case: n for n, case in enumerate(sorted({r.case for r, _ in calls}))}
        self._owners = [numbers[r.case] for r, _ in calls]
        self._words: dict[Atom, str] = {}
        self._holding: dict[Atom, int] = {}
        situations = Situations((n, r.features[at]) for n, (r, at) in enumerate(calls))
        known: defaultdict[Term, set[Scalar]] = defaultdict(set)
        for features in situations:
            for term, values in features.items():
                known[term].update(values)
        atoms = {atom for term, values in known.items() for atom in _atoms(corpus, term, values)}
        words = {atom: atom.words() for atom in (*atoms, *_comparisons(known))}
        found: dict[int, Atom] = {}
        for atom in sorted(words, key=lambda atom: (len(words[atom]), words[atom])):
            true, false = situations.where(atom)
            if false and len({owner for n, owner in enumerate(self._owners) if true >> n & 1}) >= MIN_CASES:
                found.setdefault(true, atom)
        self._holding = {atom: true for true, atom in found.items()}
        self._words = words

    def singles(self) -> list[Atom]:
        """Return the atoms, those that hold for most calls first."""
        return sorted(self._holding, key=lambda atom: (-self._holding[atom].bit_count(), self._words[atom]))

    def pairs(self) -> list[Condition]:
        """Return the best supported conditions of two atoms that neither of both says alone."""
        atoms = sorted(self._holding, key=lambda atom: self._words[atom])
        calls, cases = overlaps([self._holding[atom] for atom in atoms], whole(self._owners))
        found: list[tuple[int, int, int]] = []
        for a, one in enumerate(atoms):
            for b in range(a + 1, len(atoms)):
                alone = min(calls[a][a], calls[b][b])
                if cases[a][b] >= MIN_CASES and calls[a][b] < alone and one.term != atoms[b].term:
                    found.append((-cases[a][b], a, b))
        return [(atoms[a], atoms[b]) for _, a, b in sorted(found)[:MAX_PAIRS]]


def _comparisons(known: Mapping[Term, set[Scalar]]) -> Iterator[Atom]:
    """Compare numbers of a call with numbers of the objects that it names."""
    numeric = sorted(
        t for t, values in known.items() if t.kind == "value" and all(isinstance(v, float) for v in values)
    )
    given = [t for t in numeric if not t.ref.of][:MAX_COMPARED]
    read = [t for t in numeric if len(t.ref.of) == 1][:MAX_COMPARED]
    for a in given:
        for b in read:
            yield Atom("more", a, b)
            yield Atom("more", a, b, positive=False)


def _atoms(corpus: Corpus, term: Term, values: set[Scalar]) -> Iterator[Atom]:
    if term.kind == "change" or term.kind.startswith("among:"):
        kind = "change" if term.kind == "change" else "among"
        yield Atom(kind, term, True)
        yield Atom(kind, term, True, positive=False)
        return
    for value in sorted((v for v in values if isinstance(v, str | bool)), key=str):
        if isinstance(value, bool) or corpus.is_vocabulary(term, value):
            yield Atom("is", term, value)
            if len(values) > 2:
                yield Atom("is", term, value, positive=False)
    for cut in cut_points(v for v in values if isinstance(v, float)):
        yield Atom("more", term, cut)
        yield Atom("more", term, cut, positive=False)
