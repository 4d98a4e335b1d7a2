"""Every lesson worth trying on a corpus. What is tried never depends on how the rollouts ended."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from trainer.offline.condition import Atom
from trainer.offline.corpus import MIN_CASES
from trainer.offline.cuts import cut_points
from trainer.offline.grammar import (
    Avoid,
    CallAfter,
    CallBefore,
    Confirm,
    DoCall,
    LookUp,
    MakeSure,
    NoRepeat,
    NotAfter,
    Once,
    ReadAll,
    Recover,
    Refused,
    SeeThrough,
    TakeFrom,
)
from trainer.offline.masking import is_name
from trainer.offline.objects import is_id, leaves

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trainer.offline.corpus import Corpus
    from trainer.offline.facts import Facts
    from trainer.offline.grammar import Lesson
    from trainer.offline.objects import Scalar, Term

MAX_COMPARED = 8
MAX_PAIRS = 3000
"""Conditions of two atoms that are tried per tool."""


_Support = dict[Atom, frozenset[tuple[str, str, int]]]


def candidates(corpus: Corpus) -> list[Lesson]:
    """Return the lessons to try, each once, in a stable order."""
    found: dict[str, Lesson] = {}
    for source in (_orders, _talk, _wanted, _errors, _lists, _decisions):
        for lesson in source(corpus):
            found.setdefault(lesson.sentence(), lesson)
    return [found[sentence] for sentence in sorted(found)]


def _orders(corpus: Corpus) -> Iterator[Lesson]:
    for tool in corpus.writing:
        for first in corpus.tools:
            if first != tool:
                yield CallBefore(tool, first)
                yield NotAfter(tool, first)
                yield CallAfter(tool, first)
        for key in _keys(corpus, tool):
            yield Once(tool, key)
    for tool in corpus.reading:
        yield DoCall(tool)


def _talk(corpus: Corpus) -> Iterator[Lesson]:
    for tool in corpus.writing:
        yield Confirm(tool)
    for _, key, source, listing in corpus.listings:
        if is_id(key):
            yield LookUp(source, key, listing)


def _wanted(corpus: Corpus) -> Iterator[Lesson]:
    yield SeeThrough("")
    for tool in corpus.writing:
        yield SeeThrough(tool)
        keys = {k for r in corpus.rollouts for c in r.of(tool) for k in c.arguments}
        for key in sorted(filter(is_name, keys)):
            yield MakeSure(tool, key)


def _lists(corpus: Corpus) -> Iterator[Lesson]:
    for reader, key, source, listing in corpus.listings:
        for tool in corpus.writing:
            if is_id(key) and key in _keys(corpus, tool):
                yield ReadAll(tool, reader, listing, source)


def _errors(corpus: Corpus) -> Iterator[Lesson]:
    for tool in corpus.tools:
        yield NoRepeat(tool)
        for path in sorted({p for r in corpus.rollouts for c in r.of(tool) for p in r.unseen[c.at]}):
            if all(is_name(part) for part in path.split(".")):
                yield TakeFrom(tool, path)
        for error, cases in _refusals(corpus, tool).items():
            if len(cases) < MIN_CASES:
                continue
            for key, between in sorted(_overcome(corpus, tool, error)):
                yield Recover(tool, error, key, between)


def _refusals(corpus: Corpus, tool: str) -> dict[str, set[str]]:
    """Return template → cases in which `tool` refused a call with it."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for r in corpus.rollouts:
        for call in r.of(tool):
            if call.template:
                found[call.template].add(r.case)
    return dict(sorted(found.items()))


def _overcome(corpus: Corpus, tool: str, error: str) -> set[tuple[str, str]]:
    """Return what came between a refusal and the next call, and which argument had changed."""
    found: set[tuple[str, str]] = set()
    known = set(corpus.tools)
    for r in corpus.rollouts:
        calls = r.of(tool)
        for here, following in pairwise(calls):
            if here.template != error:
                continue
            keys = {k for k, v in following.arguments.items() if here.arguments.get(k) != v and is_name(k)}
            between = {c.tool for c in r.calls if here.at < c.at < following.at and c.tool in known - {tool}}
            found |= {(k, "") for k in keys} | {("", b) for b in between}
            found |= {(k, b) for k in keys for b in between}
    return found


def _decisions(corpus: Corpus) -> Iterator[Lesson]:
    for tool in corpus.writing:
        support = _supported(corpus, tool)
        singles = sorted(support, key=lambda atom: (-len(support[atom]), atom.words()))
        for atom in singles:
            yield Avoid(tool, (atom,))
        for a, b in _pairs(support):
            yield Avoid(tool, (a, b))
        errors = [e for e, cases in _refusals(corpus, tool).items() if len(cases) >= MIN_CASES]
        for atom in singles:
            if atom.positive or atom.kind in {"more", "among"}:
                for error in errors:
                    yield Refused(tool, (atom,), error)


def _pairs(support: _Support) -> list[tuple[Atom, Atom]]:
    """Return the best supported conditions of two atoms that neither of both says alone."""
    together: dict[tuple[Atom, Atom], int] = {}
    for a, b in combinations(sorted(support, key=Atom.words), 2):
        both = support[a] & support[b]
        if a.term != b.term and len(both) < min(len(support[a]), len(support[b])):
            together[a, b] = len({case for case, _, _ in both})
    pairs = [pair for pair, cases in together.items() if cases >= MIN_CASES]
    pairs.sort(key=lambda pair: (-together[pair], pair[0].words(), pair[1].words()))
    return pairs[:MAX_PAIRS]


def _supported(corpus: Corpus, tool: str) -> _Support:
    """Return the atoms that hold for calls in enough cases and fail for others, with the calls they hold for.

    Of atoms that hold for the same calls the shortest is kept.
    """
    known: defaultdict[Term, list[tuple[Facts, int, tuple[Scalar, ...]]]] = defaultdict(list)
    for r in corpus.rollouts:
        for call in r.of(tool):
            for term, values in r.features[call.at].items():
                known[term].append((r, call.at, values))
    atoms = {a for term, seen in known.items() for a in _atoms(corpus, term, seen)}
    atoms |= set(_comparisons(known))
    found: dict[frozenset[tuple[str, str, int]], Atom] = {}
    for atom in sorted(atoms, key=lambda atom: (len(atom.words()), atom.words())):
        judged = [(r, at, r.holds((atom,), at)) for r, at, _ in known[atom.term]]
        holding = frozenset((r.case, r.id, at) for r, at, held in judged if held is True)
        if len({case for case, _, _ in holding}) >= MIN_CASES and any(held is False for _, _, held in judged):
            found.setdefault(holding, atom)
    return {atom: holding for holding, atom in found.items()}


def _comparisons(
    known: Mapping[Term, Sequence[tuple[Facts, int, tuple[Scalar, ...]]]],
) -> Iterator[Atom]:
    """Compare numbers of a call with numbers of the objects that it names."""
    numeric = sorted(t for t, seen in known.items() if t.kind == "value" and _is_number(seen[0][2][0]))
    given = [t for t in numeric if not t.ref.of][:MAX_COMPARED]
    read = [t for t in numeric if len(t.ref.of) == 1][:MAX_COMPARED]
    for a in given:
        for b in read:
            yield Atom("more", a, b)
            yield Atom("more", a, b, positive=False)


def _is_number(value: Scalar) -> bool:
    return isinstance(value, float)


def _atoms(corpus: Corpus, term: Term, seen: list[tuple[Facts, int, tuple[Scalar, ...]]]) -> Iterator[Atom]:
    if term.kind == "change" or term.kind.startswith("among:"):
        kind = "change" if term.kind == "change" else "among"
        yield Atom(kind, term, True)
        yield Atom(kind, term, True, positive=False)
        return
    values = {v for _, _, known in seen for v in known}
    for value in sorted((v for v in values if isinstance(v, str | bool)), key=str):
        if isinstance(value, bool) or corpus.is_vocabulary(term, value):
            yield Atom("is", term, value)
            if len(values) > 2:
                yield Atom("is", term, value, positive=False)
    for cut in cut_points(v for v in values if isinstance(v, float)):
        yield Atom("more", term, cut)
        yield Atom("more", term, cut, positive=False)


def _keys(corpus: Corpus, tool: str) -> list[str]:
    """Return the arguments of a tool that name objects, sorted."""
    paths = {p for r in corpus.rollouts for c in r.of(tool) for p, _ in leaves(c.arguments)}
    return sorted(p for p in paths if "." not in p and is_id(p) and is_name(p))
