"""Does a new wording say what its sources say? Judged on words, numbers, names and negations alone."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from xpstore import polarity
from xpstore.wording import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SMALL_WORDS = """
    a an and are as at be been before by but can could do does each every for from had has have if
    in into is it its may must of on only or shall should so than that the their them then there
    these they this to was were when where which while who will with would you your also both either
    after always whenever once as please support left out not never no nor none cannot
"""
_SMALL = frozenset(_SMALL_WORDS.split())
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|nothing|without|unless|except|cannot|avoid|neither|nor|refuse|deny|reject)\b"
    r"|n['\u2019]t\b|不|没|無|无|禁止|切勿|勿|别|未|非",
    re.IGNORECASE,
)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://[^\s)>\]`\"']+", re.IGNORECASE)
_CODE = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"(?<![\w/:.])(?:~|\.{1,2})?/[\w.@~-]+(?:/[\w.@~-]*)*|\b[\w.-]+(?:/[\w.-]+)+\.\w{1,5}\b")
_ID = re.compile(r"[#@$€£]?\b\w[\w.:-]*\b%?")
_NUMBER_WORDS = """
    two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty
    hundred thousand half twice thrice
"""
_NUMBERS = frozenset(_NUMBER_WORDS.split())
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?=[ \t])[ \t]*")
_WINDOW = 4


@lru_cache(maxsize=4096)
def content(text: str) -> frozenset[str]:
    """Return what a statement is about: its terms without small words, negations and common endings."""
    return frozenset(_stem(term) for term in terms(_BULLET.sub("", text, count=1)) if term not in _SMALL)


def contained(source: str, target: str) -> float:
    """Return the share, 0 to 1, of the source's content that the target has; 1 for a source without any."""
    words = content(source)
    return len(words & content(target)) / len(words) if words else 1.0


def names(text: str) -> frozenset[str]:
    """Return what must not be invented: numbers, ids, code, paths and URLs of a text."""
    text = _BULLET.sub("", text, count=1)
    found = {m.rstrip(".,;:") for m in _URL.findall(text)}
    rest = _URL.sub(" ", text)
    found |= {code.strip() for code in _CODE.findall(rest)}
    found |= {path.rstrip(".,;:") for path in _PATH.findall(rest)}
    for token in _ID.findall(rest.replace("`", " ")):
        word = token.rstrip(".,;:-")
        is_id = any(c.isdigit() or c == "_" for c in word) or (len(word) > 1 and word.isupper())
        if is_id and word not in {"IF", "DO", "THEN", "NOT", "AND", "OR", "WHEN", "MUST", "NEVER", "ALWAYS"}:
            found.add(word)
    return frozenset(found | {w for w in terms(rest) if w in _NUMBERS})


def misplaced(target: str, sources: Iterable[str]) -> str:
    """Return a number of the target that stands where the sources have another one; "" if none."""
    known = [place for source in sources for place in _places(source)]
    for number, around in _places(target):
        fits: dict[str, int] = {}
        for other, context in known:
            fits[other] = max(fits.get(other, 0), _alike(around, context))
        if number in fits and max(fits.values()) > fits[number]:
            return number
    return ""


def negated(text: str) -> frozenset[str]:
    """Return the content words that stand right after a negation."""
    return frozenset(word for word, is_negated in _signs(text) if is_negated)


def lost_negation(source: str, target: str) -> str:
    """Return a word that the source negates and the target does not; "" where there is none."""
    here = set(_signs(target))
    affirmed = {word for word, is_negated in here if not is_negated}
    for word in sorted(negated(source)):
        if (word, True) not in here and (word in affirmed or not negated(target)):
            return word
    if polarity.command(source).is_negated and not _NEGATION.search(target):
        return "not"
    return ""


def gained_negation(sources: Iterable[str], target: str) -> str:
    """Return a word that the target negates and every source that has it affirms; "" where there is none."""
    signs = {sign for source in sources for sign in _signs(source)}
    for word in sorted(negated(target)):
        if (word, True) not in signs and (word, False) in signs:
            return word
    return ""


def _signs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each content word and whether one of the two words before it is a negation."""
    text = _BULLET.sub("", text, count=1)
    for clause in re.split(r"[,;:.!?，。；：！？\n](?=\s|$)|[，。；：！？]", text):  # noqa: RUF001
        pieces = _NEGATION.split(clause)
        for n, piece in enumerate(pieces):
            words = [_stem(w) for w in terms(piece) if w not in _SMALL]
            yield from ((word, n > 0 and place < 1) for place, word in enumerate(words))


def _places(text: str) -> list[tuple[str, tuple[frozenset[str], frozenset[str]]]]:
    words = [w.strip(".,;:()`*\"'") for w in _BULLET.sub("", text, count=1).split()]
    found = []
    for at, word in enumerate(words):
        if any(c.isdigit() for c in word) or word.casefold() in _NUMBERS:
            before = words[max(0, at - _WINDOW) : at]
            after = words[at + 1 : at + 1 + _WINDOW]
            found.append((word, (_plain(before), _plain(after))))
    return found


def _plain(words: list[str]) -> frozenset[str]:
    return frozenset(w.casefold() for w in words if not any(c.isdigit() for c in w))


def _alike(one: tuple[frozenset[str], frozenset[str]], other: tuple[frozenset[str], frozenset[str]]) -> int:
    return len(one[0] & other[0]) + len(one[1] & other[1])


def _stem(word: str) -> str:
    if len(word) > 4 and word.isascii():
        for ending in ("ing", "ed", "es", "s", "e"):
            if word.endswith(ending) and len(word) - len(ending) >= 3:
                return word[: -len(ending)]
    return word
