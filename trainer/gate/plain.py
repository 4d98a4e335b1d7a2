"""Text of cases, lessons and errors is hostile: what it may do to a reader, and to what shows it."""

from __future__ import annotations

import re

from xpstore.hashing import mend
from xpstore.names import invisible_spans

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2
_TICKS = re.compile("`+")


def visible(text: str) -> str:
    """Return text in which control, bidirectional and invisible characters are written `<U+001B>`."""
    text = mend(text)
    parts, at = [], 0
    for start, end, _ in invisible_spans(text):
        parts += [text[at:start], *(f"<U+{ord(char):04X}>" for char in text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def for_xml(text: str) -> str:
    """Return text that an XML document may have; markup is for the writer to escape."""
    return _NO_XML.sub("\ufffd", visible(text))


def code(text: str, limit: int = 200) -> str:
    """Return one line of Markdown that shows the text and does nothing: no markup, mention or link.

    It may stand in a table. More than `limit` characters are cut.
    """
    line = " ".join(visible(text).split())
    line = line if len(line) <= limit else f"{line[: limit - 1]}…"
    if not line:
        return ""
    fence = "`" * (1 + max((len(run) for run in _TICKS.findall(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}".replace("|", "\\|")


def block(text: str, limit: int) -> str:
    """Return a fenced block of Markdown with the text; more than `limit` characters are cut."""
    shown = visible(text.replace("\r\n", "\n")).replace("\r", "\n").strip("\n")
    shown = shown if len(shown) <= limit else f"{shown[: limit - 2]}\n…"
    fence = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(shown)), default=0))
    return f"{fence}text\n{shown}\n{fence}"
