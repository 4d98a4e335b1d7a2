"""A rollout as text within a budget of tokens: cut by turns, tool answers first, every cut marked.

    [1] user: Please cancel my order.
    [2] call get_order {"order_id": "O17"}
    [2] answer: {"status": "ship [… 900 characters left out …] }
    [… turns 3 to 9 left out …]
    [10] assistant: That is done.

A line that begins with `[number]` or `[…` is ours: further lines of a text are indented. What a character
does not show (control, bidi) is spelled out. The first and the last turns stay when turns must go.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from trainer.asking.budget import BYTES_PER_TOKEN, tokens_of
from trainer.asking.quoting import visible
from trainer.domain import TextPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trainer.domain import Message, Part, ToolPart

MIN_QUOTE = 6
"""Letters and digits that a quote has at least: less occurs by chance. A shorter one counts where it is a
whole text. Wide ones, of which one is about a word, count twice."""
_CAPS = (4_096, 2_048, 1_024, 512, 256, 128, 64)  # tokens that a text keeps, tried in turn
_MARK = 16  # tokens of the mark: a text is not shortened for less
_LABEL = 64
_STRAIGHT = str.maketrans("“”„‟«»\u2018\u2019\u201a\u201b", '""""""\'\'\'\'')
_ANSWERS = {"error": "refused", "pending": "no answer"}
_OURS = r"\[\d+\] (?:call |[^:\n]*:)"
_LABELS = re.compile(f"^{_OURS}", re.MULTILINE)
"""What stands before a text, and nobody said."""
_COPIED = re.compile(
    rf"^[\s\"']*(?:{_OURS}|call |(?:user|assistant|answer|refused|no answer):)", re.MULTILINE
)
"""A label that was copied with a quote, with its number or without."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """The text, and how much of the rollout it shows."""

    text: str
    turns: int
    """How many messages there are."""
    shown: int
    """How many of them the text has, whole or shortened."""
    shortened: int
    """How many texts of those lack their middle."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing was left out."""
        return self.shown == self.turns and not self.shortened


def transcript(messages: Sequence[Message], budget: int) -> Transcript:
    """Return what happened in at most `budget` tokens; without even room for a mark, nothing.

    Long tool answers lose their middle first, then long texts, then the turns between the first and the last.
    """
    turns = [tuple(_pieces(number, message)) for number, message in enumerate(messages, 1)]
    for cap in (None, *_CAPS):
        cut = [tuple(_shortened(p, cap if p.is_answer else None) for p in turn) for turn in turns]
        whole = _written(cut, len(turns), len(turns))
        if tokens_of(whole.text) <= budget:
            return whole
    share = max(_CAPS[-1], budget // 4)
    for cap in (share, *(c for c in (*_CAPS, 32, 16, 8) if c < share)):
        short = [tuple(_shortened(p, min(cap, _CAPS[-1]) if p.is_answer else cap) for p in t) for t in turns]
        if (rest := _ends(short, budget)) is not None:
            return rest
    mark = _left_out(1, len(turns))
    return Transcript(mark if turns and tokens_of(mark) <= budget else "", len(turns), 0, 0)


def whole_text(messages: Sequence[Message]) -> str:
    """Return everything that happened, as `transcript` writes it without a budget."""
    return "\n".join(p.line for n, m in enumerate(messages, 1) for p in _pieces(n, m))


def clipped(text: str, cap: int) -> str:
    """Return a text in about `cap` tokens: without its middle, which is marked, where it is longer."""
    return _shortened(_Piece("", visible(text)), cap).text


def is_quoted(quote: str, text: str) -> bool:
    """Say whether a quote stands in a `whole_text` letter by letter; case, spaces, quotation marks aside.

    The labels of turns are no part of what was said: alone they are no quote, before one they do no harm.
    """
    return _stands(_folded(quote), text) or _stands(_said(quote), text)


def why_no_quote(quote: str, text: str) -> str:
    """Return why `is_quoted` says no, in a sentence; empty where it says yes."""
    if is_quoted(quote, text):
        return ""
    what = "is too short to be looked up" if _length(_said(quote)) < MIN_QUOTE else "does not occur"
    return f"the quote {quote!r} {what} in the transcript"


def _stands(folded: str, text: str) -> bool:
    wanted = _bare(folded)
    if _length(wanted) < MIN_QUOTE:
        return bool(wanted) and wanted in {
            _bare(_folded(line.partition(": ")[2])) for line in text.split("\n")
        }
    return wanted in _haystack(text)


def _said(quote: str) -> str:
    """Return a quote, folded, without a label."""
    return _folded(_COPIED.sub("", quote.translate(_STRAIGHT)))


def _bare(folded: str) -> str:
    return folded.strip("\"'.… ")


def _length(text: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text if c.isalnum())


@dataclass(frozen=True, slots=True)
class _Piece:
    """A text, a call or an answer of a turn."""

    label: str
    text: str
    is_answer: bool = False
    is_short: bool = False

    @property
    def line(self) -> str:
        """Further lines are indented, whatever ends them: no text can forge the beginning of a turn."""
        lines = self.text.splitlines() or [""]
        return f"{self.label} " + "\n    ".join(lines) if self.text else self.label


def _pieces(number: int, message: Message) -> Iterator[_Piece]:
    """Yield what a turn is made of, in order; a turn of nothing is a piece without text."""
    role = " ".join(visible(message.role).split())[:_LABEL] or "someone"
    made = [piece for part in message.parts for piece in _of_part(number, role, part)]
    yield from made or [_Piece(f"[{number}] {role}:", "")]


def _of_part(number: int, role: str, part: Part) -> Iterator[_Piece]:
    if isinstance(part, TextPart):
        if part.text.strip():
            yield _Piece(f"[{number}] {role}:", visible(part.text.strip()))
        return
    called = "user's call" if role == "user" else "call"
    yield _Piece(
        f"[{number}] {called} {' '.join(visible(part.tool_name).split())[:_LABEL]}", _arguments(part)
    )
    answer = _ANSWERS.get(part.tool_status, "answer")
    yield _Piece(f"[{number}] {answer}:", visible(part.tool_output.strip()), is_answer=True)


def _arguments(part: ToolPart) -> str:
    if isinstance(part.tool_input, str):
        return visible(part.tool_input.strip())
    return visible(json.dumps(part.tool_input, ensure_ascii=False, sort_keys=True))  # as it is on record


def _shortened(piece: _Piece, cap: int | None) -> _Piece:
    """Return the piece without its middle if it is longer than `cap` tokens: the head, half as much tail."""
    if cap is None or tokens_of(piece.text) <= cap + _MARK:
        return piece
    data = piece.text.encode()
    head = data[: cap * BYTES_PER_TOKEN * 2 // 3].decode(errors="ignore")
    tail = data[len(data) - cap * BYTES_PER_TOKEN // 3 :].decode(errors="ignore")
    left = len(piece.text) - len(head) - len(tail)
    return replace(piece, text=f"{head} [… {left} characters left out …] {tail}", is_short=True)


def _ends(turns: Sequence[Sequence[_Piece]], budget: int) -> Transcript | None:
    """Return the first and the last turns with as many between them as fit; None where those two do not.

    Turns are taken from both ends in turn, the end first: how it ended says most.
    """
    if len(turns) == 1:
        only = _written(turns, 1, 1)
        return only if tokens_of(only.text) <= budget else None
    costs = [tokens_of("\n".join(p.line for p in turn)) + 1 for turn in turns]
    room = budget - tokens_of(_left_out(len(turns), len(turns))) - 1
    head, tail = 0, 0
    while head + tail < len(turns):
        at_end = tail <= head
        cost = costs[len(turns) - 1 - tail] if at_end else costs[head]
        if cost > room:
            break
        room -= cost
        head, tail = (head, tail + 1) if at_end else (head + 1, tail)
    return _written([*turns[:head], *turns[len(turns) - tail :]], len(turns), head) if head and tail else None


def _written(turns: Sequence[Sequence[_Piece]], count: int, head: int) -> Transcript:
    """Return the text of these turns, of `count` in all; those that lack come after the first `head`."""
    lines = [p.line for turn in turns[:head] for p in turn]
    if len(turns) < count:
        lines.append(_left_out(head + 1, count - (len(turns) - head)))
    lines += [p.line for turn in turns[head:] for p in turn]
    shortened = sum(p.is_short for turn in turns for p in turn)
    return Transcript("\n".join(lines), count, len(turns), shortened)


def _left_out(first: int, last: int) -> str:
    return f"[… turns {first} to {last} left out …]" if first != last else f"[… turn {first} left out …]"


@lru_cache(maxsize=2)
def _haystack(text: str) -> str:
    """Return what was said in a transcript, folded: all quotes of an answer are looked up in the same one."""
    return _folded(_LABELS.sub("", text))


def _folded(text: str) -> str:
    straight = unicodedata.normalize("NFC", text).translate(_STRAIGHT)
    return "".join(straight.split()).casefold()
