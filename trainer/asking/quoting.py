"""Data in a question stands between marks that whoever wrote the data cannot have known.

The mark is a function of the data, so that the same question has the same text, and a recording of the run
can be replayed. Whoever writes a transcript would have to write into it the digest of that very text.
"""

from __future__ import annotations

import hashlib
import re

from xpstore.hashing import mend
from xpstore.names import invisible_spans
from xpstore.redact import Redactor

EXCERPT = 200
"""Characters of somebody else's text that an error shows."""
MOST_READ = 20_000
"""Characters of it that are looked through for secrets."""
LENGTH = 20
"""Hex digits of a mark: 80 bits."""
_LABEL = re.compile(r"[^\w .,:#/-]+")


class Quoting:
    """The marks of one question, made from all of its data."""

    def __init__(self, *data: str, salt: str = "") -> None:
        texts = [mend(text) for text in (salt, *data)]
        digest = hashlib.sha256()
        for text in texts:
            digest.update(b"%d:" % len(text) + text.encode())  # the lengths tell ("a", "bc") from ("ab", "c")
        self.mark = digest.hexdigest()[:LENGTH]
        """An answer in which the mark occurs has leaked it: checks refuse it."""

    def block(self, label: str, text: str) -> str:
        """Return the text between marks, with a label of ours; what cannot be seen in it is spelled out."""
        label = " ".join(_LABEL.sub(" ", visible(label)).split())
        # only text that was not among the data of the mark can have it in
        quoted = visible(text).replace(self.mark, "…")
        return f"<<<{label} {self.mark}\n{quoted}\n{self.mark} {label}>>>"


def visible(text: str) -> str:
    r"""Return the text with what cannot be seen (control, bidi, zero-width) as `\u{…}`."""
    text = mend(text)
    parts = []
    at = 0
    for start, end, _ in invisible_spans(text):
        parts += [text[at:start], *(f"\\u{{{ord(char):x}}}" for char in text[start:end])]
        at = end
    return "".join([*parts, text[at:]])


def excerpt(text: str) -> str:
    """Return the beginning of somebody else's text, for an error: one line, secrets masked."""
    # an endpoint may send megabytes; no secret that begins in the excerpt ends after what is looked through
    line = " ".join(visible(Redactor().redact_text(text.lstrip()[:MOST_READ])).split())
    return line if len(line) <= EXCERPT else f"{line[: EXCERPT - 1]}…"
