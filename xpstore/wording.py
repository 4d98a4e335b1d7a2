"""Texts as terms and as shingles: what of two texts can be compared, in any script.

Words of scripts that write spaces are folded; Chinese, Japanese, Korean, Thai and their like become pairs
of characters.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

_SHINGLE = 4

# Scripts written without spaces between words: Thai to Khmer, kana, Han, Hangul, Han beyond the BMP.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Those scripts as the inside of a character class."""
_RUNS = re.compile(f"([{UNSPACED}]+)|([^\\s{UNSPACED}]+)")
_UNSPACED_TERMS = re.compile(f"[{UNSPACED}]+ ?")


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

    @classmethod
    def of(cls, query: str) -> Wanted:
        """Return the shingles of a query."""
        found = sorted(shingles(query))
        pairs = [piece for piece in found if _UNSPACED_TERMS.fullmatch(piece)]
        return cls(tuple(p for p in found if p not in pairs), tuple(f" {pair} " for pair in pairs))

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
