"""What of a transcript may stand in a lesson. Transcripts are hostile text and full of instance data."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from xpstore.suspect import orders

MAX_NAME = 64
MAX_VALUE = 32
MAX_TEMPLATE = 120

_NAME = re.compile(r"[^\W\d_][\w.\-]*")
_VALUE = re.compile(r"[^\W\d_]\w*(?:-\w+)*")
_PREFIX = re.compile(r"\s*(?:\w*(?:error|exception)|错误)\s*[:\uff1a]\s*", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'|“[^”]*”|\{[^{}]*\}|\[[^\[\]]*\]")
_DATE = re.compile(r"\b\d{4}-\d\d?-\d\d?(?:[T ]\d\d?:\d\d(?::\d\d)?\S*)?|\b\d\d?:\d\d(?::\d\d)?\b")
_AMOUNT = re.compile(r"[$€£¥]?\b\d+(?:[.,]\d+)*\b%?")
_LITERAL = re.compile(r"\S*\d\S*")
_UNSAFE = re.compile(r"[^\w\s.,;:()<>/'%!?+-]|_{2,}")
_TRAILING = ".,;:"

_READING = frozenset(
    {
        "get", "list", "search", "find", "read", "lookup", "look", "fetch", "query", "show", "view", "check",
        "describe", "calculate", "compute", "think", "count", "inspect", "retrieve", "browse", "validate",
    }
)  # fmt: skip


def is_name(text: str) -> bool:
    """Say whether a tool, argument or field name is fit for a lesson: identifier-like and short."""
    return len(text) <= MAX_NAME and _NAME.fullmatch(text) is not None and _is_plain(text)


def is_value(text: str) -> bool:
    """Say whether a categorical value is fit for a lesson: one identifier-like word without digits."""
    if len(text) > MAX_VALUE or any(c.isdigit() for c in text):
        return False
    return _VALUE.fullmatch(text) is not None and _is_plain(text)


def error_template(output: str) -> str:
    """Return a refusal's first line with literals masked; empty where nothing safe is left.

    Quoted text, brackets, dates, amounts and words with digits become `<…>`; what could act as Markdown is
    dropped; the result is one printable line of at most 120 characters. What gives orders is not repeated.
    """
    lines = unicodedata.normalize("NFC", output).strip().splitlines()
    if not lines or orders(lines[0]):
        return ""
    text = _PREFIX.sub("", lines[0], count=1)
    text = _QUOTED.sub("<text>", text)
    text = _DATE.sub("<date>", text)
    text = _LITERAL.sub(_masked_word, text)
    text = "".join(" " if c.isdigit() or unicodedata.category(c)[0] == "C" else c for c in text)
    text = " ".join(_UNSAFE.sub(" ", text).split()).rstrip(_TRAILING)
    if len(text) > MAX_TEMPLATE:
        text = text[:MAX_TEMPLATE].rsplit(" ", 1)[0]
    return text if any(c.isalpha() for c in re.sub(r"<\w+>", "", text)) else ""


def words(name: str) -> tuple[str, ...]:
    """Return the words of an identifier in lower case: `orderId` and `order_id` are `order`, `id`."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return tuple(w.lower() for w in re.split(r"[\s_.\-]+", spaced) if w)


def _masked_word(match: re.Match[str]) -> str:
    word = match[0].rstrip(_TRAILING)
    tail = match[0][len(word) :]
    return ("<amount>" if _AMOUNT.fullmatch(word) else "<id>") + tail


def _is_plain(text: str) -> bool:
    return unicodedata.is_normalized("NFC", text) and text.isprintable()


@lru_cache(maxsize=4096)
def changes_something(tool: str) -> bool:
    """Say whether a tool's name does not begin with a verb of reading, such as get, list, search."""
    return (words(tool) or ("",))[0] not in _READING
