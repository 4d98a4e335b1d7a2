"""Every lesson worth trying on a corpus. What is tried never depends on how the rollouts ended."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

from trainer.offline.corpus import MIN_CASES
from trainer.offline.decisions import conditions
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
    from collections.abc import Iterator

    from trainer.offline.corpus import Corpus
    from trainer.offline.grammar import Lesson


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
        found = conditions(corpus, tool)
        errors = [e for e, cases in _refusals(corpus, tool).items() if len(cases) >= MIN_CASES]
        for condition in found:
            yield Avoid(tool, condition)
            (first, *more) = condition
            if not more and (first.positive or first.kind in {"more", "among"}):
                for error in errors:
                    yield Refused(tool, condition, error)


def _keys(corpus: Corpus, tool: str) -> list[str]:
    """Return the arguments of a tool that name objects, sorted."""
    paths = {p for r in corpus.rollouts for c in r.of(tool) for p, _ in leaves(c.arguments)}
    return sorted(p for p in paths if "." not in p and is_id(p) and is_name(p))
