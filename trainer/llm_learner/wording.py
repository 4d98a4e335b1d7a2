"""What a sentence of a model must be like to stand in a page. A transcript may have dictated it."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from xpstore.document import Document
from xpstore.errors import DocumentError, InvalidNameError
from xpstore.names import check_name, invisible_spans
from xpstore.redact import find_secrets
from xpstore.suspect import orders

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.llm_learner.instance import Instances

LONGEST = 300
"""Characters of a lesson."""
_BULLET = re.compile(r"^(?:[-*+•]|\d{1,2}[.)])\s+")
_MARKUP = re.compile(r"<{3,}|>{3,}|={5,}|<!--|-->|```|~~~|^#{1,6}\s|^\||^---|<\||\|>|\[/?INST\]")
"""What means something to a page's reader or to a merge, and nothing in a sentence."""
_HTML = re.compile(
    r"</[a-z][\w-]*\s*>|<[a-z][\w-]*(?:\s+[\w:-]+\s*=[^<>]*|\s*/)>|<![a-z\[]"
    r"|<(?:script|style|iframe|object|embed|img|svg|[bh]r|div|span|em|strong|h[1-6]|[abipu])\b[^<>]*>",
    re.IGNORECASE,
)
"""Tags, for a page may be shown as HTML; a lone `<word>` of another kind is a blank to be filled in."""
_CODE = re.compile(r"`[^`]*`")
_SPELLED = re.compile(r"(?<![^\W_])(?:(?![\u2e80-\uffff])[^\W_][\s._*|·-]+){7,}[^\W_](?![^\W_])")
"""Eight letters or digits, each alone. Chinese and its neighbours may be written so."""
_LETTERS = re.compile(r"[^\W\d_]{4,}")
"""Shorter words are units and symbols, such as μs."""
_LIKE_LATIN = frozenset({"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
"""Scripts with letters that look like Latin ones."""
_SHOWN = 3  # findings that are told of each kind


def tidy(text: str) -> str:
    """Return the text in one line, NFC, without a bullet in front."""
    return _BULLET.sub("", " ".join(unicodedata.normalize("NFC", text).split()))


def markup(text: str) -> frozenset[str]:
    """Return what of a text means something to a page's reader or to a merge, and nothing in a sentence."""
    line = tidy(text)
    found = (*_MARKUP.finditer(line), *_HTML.finditer(_CODE.sub(" ", line)))
    return frozenset(match[0] for match in found)


def disguises(text: str) -> Iterator[str]:
    """Yield how a text hides what it says from who looks for words in it."""
    if _SPELLED.search(text):
        yield "it spells something out, letter by letter"
    if any(map(_is_mixed, _LETTERS.findall(text))):
        yield "it has a word of letters of several scripts"


def faults(text: str, instances: Instances, mark: str = "") -> Iterator[str]:
    """Yield why a tidy text cannot be a lesson, in sentences; `mark` is that of the question's data."""
    if not any(map(str.isalpha, text)):
        yield "it says nothing"
        return
    if len(text) > LONGEST:
        yield f"it is longer than {LONGEST} characters"
    if invisible_spans(text):
        yield "it has characters that cannot be seen"
    if "\ufffd" in text:
        yield "it has a character that was lost (U+FFFD)"
    if (mark and mark in text) or markup(text) or not _is_item(text):
        yield "it has markup: a lesson is one plain sentence"
    yield from disguises(text)
    for why in orders(text)[:_SHOWN]:
        yield f"it {why}"
    for secret in find_secrets(text)[:_SHOWN]:
        yield f"it holds {'personal data' if secret.personal else 'what looks like a secret'} ({secret.kind})"
    for found in instances.in_text(text)[:_SHOWN]:
        yield f"'{found}' belongs to a single case: say it so that it holds for all"


def name_of(text: str) -> str:
    """Return the name of a page in the store's form. Raises InvalidNameError for a path and the like."""
    return check_name("-".join(tidy(text).lower().split()))


def is_name(text: str) -> bool:
    """Say whether `name_of` has a name for the text."""
    try:
        name_of(text)
    except InvalidNameError:
        return False
    return True


def _is_mixed(word: str) -> bool:
    scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
    return "LATIN" in scripts and not scripts.isdisjoint(_LIKE_LATIN)


def _is_item(text: str) -> bool:
    try:
        Document.build({}, [("Approach", [f"- {text}"])])
    except DocumentError:
        return False
    return True
