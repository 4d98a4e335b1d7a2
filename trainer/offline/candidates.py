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
    CallBefore,
    Confirm,
    DoCall,
    LookUp,
    NoRepeat,
    NotAfter,
    Once,
    ReadAll,
    Recover,
    Refused,
    TakeFrom,
)
from trainer.offline.masking import is_name
from trainer.offline.objects import is_id, leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.offline.corpus import Corpus
    from trainer.offline.facts import Facts
    from trainer.offline.grammar import Lesson
    from trainer.offline.objects import Scalar, Term

MAX_PAIRS = 400
"""Conditions of two atoms that are tried per tool, the best supported first."""


def candidates(corpus: Corpus) -> list[Lesson]:
    """Return the lessons to try, each once, in a stable order."""
    found: dict[str, Lesson] = {}
    for source in (_orders, _talk, _errors, _lists, _decisions):
        for lesson in source(corpus):
            found.setdefault(lesson.sentence(), lesson)
    return [found[sentence] for sentence in sorted(found)]


def _orders(corpus: Corpus) -> Iterator[Lesson]:
    for tool in corpus.writing:
        for first in corpus.tools:
            if first != tool:
                yield CallBefore(tool, first)
                yield NotAfter(tool, first)
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
        together = {
            (a, b): len({case for case, _ in support[a] & support[b]})
            for a, b in combinations(sorted(singles, key=Atom.words), 2)
            if a.term != b.term
        }
        pairs = [pair for pair, cases in together.items() if cases >= MIN_CASES]
        pairs.sort(key=lambda pair: (-together[pair], pair[0].words(), pair[1].words()))
        for a, b in pairs[:MAX_PAIRS]:
            yield Avoid(tool, (a, b))
        errors = [e for e, cases in _refusals(corpus, tool).items() if len(cases) >= MIN_CASES]
        for atom in singles:
            if atom.positive or atom.kind in {"more", "among"}:
                for error in errors:
                    yield Refused(tool, (atom,), error)


def _supported(corpus: Corpus, tool: str) -> dict[Atom, frozenset[tuple[str, int]]]:
    """Return the atoms that hold for calls in enough cases and fail for others, with their calls."""
    known: defaultdict[Term, list[tuple[Facts, int, tuple[Scalar, ...]]]] = defaultdict(list)
    for r in corpus.rollouts:
        for call in r.of(tool):
            for term, values in r.features[call.at].items():
                known[term].append((r, call.at, values))
    found: dict[Atom, frozenset[tuple[str, int]]] = {}
    for atom in (a for term, seen in known.items() for a in _atoms(corpus, term, seen)):
        holding = [(r, at) for r, at, _ in known[atom.term] if atom.holds(r.features[at]) is True]
        if len({r.case for r, _ in holding}) >= MIN_CASES and len(holding) < len(known[atom.term]):
            found[atom] = frozenset((r.case, id(r) * 100_003 + at) for r, at in holding)
    return found


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
