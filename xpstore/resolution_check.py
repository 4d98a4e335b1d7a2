"""May a decision about a merge be written? Decided by code, whoever made it. Pure.

Errors refuse. Warnings are what people's own merges do often: rewording, taking one side, keeping what a
side removed. The thresholds were set on one half of a corpus of right and wrong decisions and measured on
the other (tests/xpstore/test_resolution_check.py).
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from xpstore import frontmatter, polarity
from xpstore.account_check import COVERED, Objection, check_account
from xpstore.conflict import Conflict, Hunk, lines_of, statements_in
from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.fidelity import contained, names
from xpstore.wording import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from xpstore.markdown import Statement
    from xpstore.resolver import Claim

_MARKER = re.compile(r"[ \t]*(?:(<{7}|>{7}|\|{7})(?:[ \t].*)?|(={7})[ \t]*)")
_TELLING = 8  # a shorter line, as `---`, is no evidence of anything


def check(conflict: Conflict, text: str, account: Sequence[Claim]) -> tuple[Objection, ...]:
    """Return everything that speaks against writing this text as the decision of the conflict."""
    versions = [version for version in (conflict.base, conflict.ours, conflict.theirs) if version is not None]
    found = list(_check_markers(versions, text))
    try:
        doc = Document.parse(text, conflict.where)
    except DocumentError as error:
        return (*found, Objection("front matter", error.message))
    decided = conflict.decided(text)
    if decided is None:
        return (*found, Objection("outside", "text that is not in conflict was changed"))
    found += _check_whole(conflict, doc)
    found += _check_hunks(conflict, doc, decided, account)
    if text in (conflict.ours, conflict.theirs):
        side = "ours" if text == conflict.ours else "theirs"
        found.append(Objection("one side", f"the result is {side}, word for word", is_error=False))
    return tuple(found)


def check_text(versions: Iterable[str | None], text: str, where: str) -> tuple[Objection, ...]:
    """Return what speaks against a text that a person wrote: markers, front matter, opposite commands.

    A version whose front matter does not parse is what the person may be there to mend.
    """
    known = [version for version in versions if version is not None]
    found = list(_check_markers(known, text))
    try:
        doc = Document.parse(text, where)
    except DocumentError as error:
        return (*found, Objection("front matter", error.message))
    docs = list(_readable(known, where))
    if doc.source is None and docs and all(version.source is not None for version in docs):
        found.append(Objection("front matter", "the front matter is gone, which every version has"))
    return (*found, *_check_contradictions(docs, doc))


def _readable(versions: Iterable[str], where: str) -> Iterator[Document]:
    for version in versions:
        with suppress(DocumentError):
            yield Document.parse(version, where)


def errors(objections: Iterable[Objection]) -> list[str]:
    """Return the messages of what refuses."""
    return [o.message for o in objections if o.is_error]


def _check_hunks(
    conflict: Conflict, doc: Document, decided: Sequence[tuple[str, ...]], account: Sequence[Claim]
) -> Iterator[Objection]:
    claims = {claim.number: claim for claim in account}
    numbers = {s.number for hunk in conflict.hunks for s in hunk.statements}
    if len(claims) != len(account) or not claims.keys() <= numbers:
        yield Objection("account", "a statement is claimed twice, or there is none of its number")
    placed = Counter(s.text for s in doc.statements())
    for hunk, lines in zip(conflict.hunks, decided, strict=True):
        if hunk.is_front_matter:
            texts: tuple[str, ...] = ("\n".join(lines),) if lines else ()
            yield from _check_keys(hunk, texts)
            around: list[str] = []
        else:
            statements = statements_in(lines)
            if statements is None or any(not placed[s.text] for s in statements):
                yield Objection("outside", "the decision changes how the text around it is read")
                continue
            texts = tuple(s.text for s in statements)
            around = [s.text for s in doc.statements(hunk.section) if s.text not in texts]
        yield from check_account(hunk, texts, around, claims)
        yield from _check_lines(hunk, lines)


def _check_keys(hunk: Hunk, texts: Sequence[str]) -> Iterator[Objection]:
    known = set(frontmatter.load("".join(s.text for s in hunk.statements[:1])))
    found = set(frontmatter.load("".join(texts)))
    if not found <= known:
        yield Objection("front matter", f"the decision has other keys: {', '.join(sorted(found - known))}")


def _check_lines(hunk: Hunk, decided: Sequence[str]) -> Iterator[Objection]:
    """Yield the lines of a hunk that both sides kept and the decision has not (or less often)."""
    base, ours, theirs = (_lines(s.text for s in hunk.of(side)) for side in ("base", "ours", "theirs"))
    result = _lines(decided)
    for line, n in base.items():
        floor = max(0, min(n, ours[line]) + min(n, theirs[line]) - n)
        if result[line] < floor and len(line) >= _TELLING and not _is_said(line, decided):
            yield Objection("loss", f"a line that both sides kept is gone: {line[:80]!r}")


def _is_said(line: str, decided: Sequence[str]) -> bool:
    """Whether other lines say it: a wrapped statement that is reworded breaks elsewhere."""
    text = "\n".join(decided)
    return contained(line, text) >= COVERED and names(line) <= names(text)


def _lines(texts: Iterable[str]) -> Counter[str]:
    return Counter(line.strip() for text in texts for line in text.split("\n"))


def _check_markers(versions: Sequence[str], text: str) -> Iterator[Objection]:
    """Yield kinds of conflict markers that no version has; one that quotes markers may keep them."""
    known = {kind for version in versions for kind in _markers(version)}
    for kind in sorted(_markers(text) - known):
        yield Objection("markers", f"a conflict marker is left: {kind}")


def _markers(text: str) -> set[str]:
    found = (_MARKER.fullmatch(line) for line in lines_of(text))
    return {match[1] or match[2] for match in found if match}


def _check_whole(conflict: Conflict, doc: Document) -> Iterator[Objection]:
    new = names(doc.body) - conflict.names
    if new:
        yield Objection("novelty", f"no version has {', '.join(sorted(new))}")
    base, *sides = (version.statements() for version in conflict.documents.values())
    yield from check_repeated(base, sides, doc.statements())
    yield from _check_contradictions(conflict.documents.values(), doc)


def _check_contradictions(docs: Iterable[Document], doc: Document) -> Iterator[Objection]:
    held = [{s.key for s in version.statements()} for version in docs]
    keys = {s.text: s.key for s in doc.statements()}
    for first, second in polarity.contradictions(keys):
        if not any({keys[first], keys[second]} <= side for side in held):
            yield Objection("contradiction", f"opposite commands: {first[:80]!r} and {second[:80]!r}")


def check_repeated(
    base: Sequence[Statement], versions: Sequence[Sequence[Statement]], result: Sequence[Statement]
) -> Iterator[Objection]:
    """Yield statements that stand more often than the versions explain.

    Word for word: than in any one of them. But for case and punctuation: than all additions together.
    """
    exact = [_counted(side, is_folded=False) for side in (base, *versions)]
    for key, n in _counted(result, is_folded=False).items():
        if n > max(counts[key] for counts in exact) and n > 1:
            yield Objection("duplicate", f"{key[1][:80]!r} stands {n} times")
    old, *sides = (_counted(side, is_folded=True) for side in (base, *versions))
    for key, n in _counted(result, is_folded=True).items():
        added = sum(side[key] - old[key] for side in sides)
        most = max(old[key] + added, old[key], *(side[key] for side in sides))
        if n > most and n > 1:
            yield Objection("duplicate", f"{key[1][:80]!r} is said {n} times")


def _counted(statements: Iterable[Statement], *, is_folded: bool) -> Mapping[tuple[str, str], int]:
    texts = ((s.section, " ".join(terms(s.body) if is_folded else s.body.split())) for s in statements)
    return Counter((section, text) for section, text in texts if text)
