"""Texts as terms and as shingles: what of two texts can be compared, in any script.

Words of scripts that write spaces are folded; Chinese, Japanese, Korean, Thai and their like become pairs
of characters. What a question is about is told by its other words than those that every question has.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHINGLE = 4

# Scripts written without spaces between words: Thai to Khmer, kana, Han, Hangul, Han beyond the BMP.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Those scripts as the inside of a character class."""
_RUNS = re.compile(f"([{UNSPACED}]+)|([^\\s{UNSPACED}]+)")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_UNSPACED_TERMS = re.compile(f"[{UNSPACED}]+ ?")

_ENGLISH = """
a about after all also am an and any are as at be been being but by can could did do does doing for from had
has have having he her here hers him his how i if in into is it its just like may me might more most must my
need needs of off on one or our ours out over own please shall she should so some such than that the their
theirs them then there these they this those to too until up us very want wants wanted was we were what when
where which while who whom whose why will with would you your yours
"""
_CHINESE = """
一下 一个 不是 不能 为什 之前 之后 也可 什么 他们 以后 以前 但是 你们 应该 怎么 怎样 我们 我想 我要 或者 是不
是否 有没 没有 现在 的是 的话 能不 能否 要不 请问 这个 那个 还是 还能 可不 可以 可否 么办
"""
_FUNCTION_WORDS = frozenset(f"{_ENGLISH}{_CHINESE}".split())
"""What questions say whatever they are about. English negations are no such words: pages are about them."""
_FUNCTION_CHARACTERS = frozenset(
    "的了是我你他她它们这那有在和与及或也就都还又吗呢吧啊个请要想能会可以把被给让对从到为去来什么怎不没"
)


class _Letters(dict[int, str]):
    """Maps every code point that is no letter, digit or mark to a space; fills itself."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = kept = char if unicodedata.category(char)[0] in "LNM" else " "
        return kept


_LETTERS = _Letters()


def terms(text: str) -> list[str]:
    """Return the terms of a text in order: folded words, and pairs of characters of unspaced scripts."""
    found: list[str] = []
    for unspaced, word in _RUNS.findall(unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS)):
        if word:
            found.append(word)
        elif len(unspaced) == 1:
            found.append(unspaced)
        else:
            found.extend(unspaced[i : i + 2] for i in range(len(unspaced) - 1))
    return found


def telling(found: Iterable[str]) -> list[str]:
    """Return the terms that say what a question is about; all of them where none does."""
    every = list(found)
    return [term for term in every if term not in _FUNCTION_WORDS] or every


def characters(text: str) -> tuple[str, ...]:
    """Return the single Han characters of a text that are no function words, in order, each once."""
    return tuple(char for char in dict.fromkeys(_HAN.findall(text)) if char not in _FUNCTION_CHARACTERS)


def shingles(text: str) -> frozenset[str]:
    """Return the text's overlapping pieces of four characters, or two for unspaced scripts."""
    found = set()
    words = []
    for term in terms(text):
        if _RUNS.fullmatch(term).group(1):  # type: ignore[union-attr]  # every term is such a run
            found.add(term)
        else:
            words.append(term)
    line = " ".join(words)
    found.update(line[i : i + _SHINGLE] for i in range(max(1, len(line) - _SHINGLE + 1)) if line)
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The shingles of a query."""

    pieces: tuple[str, ...]
    pairs: tuple[str, ...]
    """Those of unspaced scripts, as they stand among terms: with a space on either side."""
    characters: tuple[str, ...] = ()
    """The single Han characters, function words aside."""

    @classmethod
    def of(cls, query: str) -> Wanted:
        """Return the shingles of a query."""
        found = sorted(shingles(" ".join(telling(terms(query)))))
        pairs = [piece for piece in found if _UNSPACED_TERMS.fullmatch(piece)]
        rest = tuple(piece for piece in found if piece not in pairs)
        return cls(rest, tuple(f" {pair} " for pair in pairs), characters(query))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.pieces) + len(self.pairs)

    def share_in(self, text: str) -> float:
        """Return the share of them that a text has, which is given as its terms with spaces between them."""
        words = text if text.isascii() else _UNSPACED_TERMS.sub("", text).rstrip()
        found = sum(piece in words for piece in self.pieces)
        if self.pairs:
            padded = f" {text} "
            found += sum(pair in padded for pair in self.pairs)
        return found / self.count

    def likeness(self, text: str) -> float:
        """Return the same share for words that are not spelled alike: of a pair, each character counts."""
        words = text if text.isascii() else _UNSPACED_TERMS.sub("", text).rstrip()
        found = sum(piece in words for piece in self.pieces) + sum(char in text for char in self.characters)
        return found / max(1, len(self.pieces) + len(self.characters))
