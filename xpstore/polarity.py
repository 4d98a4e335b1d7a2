"""Whether two statements command opposite things: "IF x DO y" beside "IF x DO NOT y".

Decided on words alone, so it finds plain contradictions only: the same words but for a negation, or
the same condition with the same tool once demanded and once forbidden.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

from xpstore.markdown import statement_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NEGATIVE = (
    r"(?:(?:do|does|must|should|shall|may|can|could|will) ?not|cannot|never|avoid"
    r"|(?:do|does|must|should|ca|wo)n['\u2019]t)\b|不要|不得|不能|不可以?|不应该?|不准|禁止|切勿|请勿|严禁|绝不"
)
_POSITIVE = r"(?:do|does|must|should|shall|may|can|always|will)\b|必须|务必|应该?|可以|一定要|始终"
_MODAL = re.compile(rf"(?:\b|(?<=[\u3000-\uffef]))(?:(?P<no>{_NEGATIVE})|{_POSITIVE})")
_HEAD = re.compile(rf"(?:then |you |please |请|你)*(?:(?P<no>{_NEGATIVE})|{_POSITIVE})?")
_CONDITION = re.compile(
    r"(?:if|when|whenever|where|once|before|after|unless|as long as)\b(.+?)(?:, | then | DO (?=\S))(.+)"
    "|(?:如果|若|当|除非|一旦)(.+?)(?:[,\uff0c] ?|时)(.+)",
    re.IGNORECASE,
)
_RULE = re.compile(r"IF (.+?) (?:THEN )?(DO (?:NOT )?.+)")
_TOOL = re.compile(r"`([^`]+)`|\b([a-z0-9]+(?:[_.][a-z0-9]+)+)\b")
_MARKS = r"*_~\"\u201c\u201d"
_NOISE = re.compile(
    rf"[{_MARKS},;:.!?\uff0c\u3002\uff1b\uff1a\uff01\uff1f\u3001]+(?=\s|$)|(?<!\S)[{_MARKS}]+(?=\w)"
)


@dataclass(frozen=True, slots=True)
class Command:
    """What a statement commands, in folded words."""

    condition: str
    words: str
    """The command without its modal words."""
    tool: str
    forbids: bool
    """Whether it begins with a negation."""
    is_negated: bool
    """Whether it holds an odd number of negations."""


@lru_cache(maxsize=4096)
def command(text: str) -> Command:
    """Return the command in a statement's Markdown. A condition's own negations are part of the condition."""
    key = " ".join(_NOISE.sub(" ", statement_key(text)).split())
    match = _RULE.fullmatch(key) or _CONDITION.fullmatch(statement_key(text).strip("*_ "))
    condition, rest = ("", key) if match is None else [part for part in match.groups() if part is not None]
    rest = _folded(rest)
    head = _HEAD.match(rest)
    negations = sum(found["no"] is not None for found in _MODAL.finditer(rest))
    tool = _TOOL.search(rest, head.end() if head else 0)
    return Command(
        condition=_folded(condition),
        words=" ".join(_MODAL.sub(" ", rest).split()),
        tool=(tool[1] or tool[2]) if tool else "",
        forbids=bool(head and head["no"]),
        is_negated=negations % 2 == 1,
    )


def contradict(a: Command, b: Command) -> bool:
    """Return whether both commands cannot be followed."""
    if a.condition != b.condition:
        return False
    if a.words == b.words:
        return a.is_negated != b.is_negated
    return bool(a.condition and a.tool and a.tool == b.tool) and a.forbids != b.forbids


def contradictions(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield every pair of statements that command opposite things."""
    known = [(text, command(text)) for text in texts]
    alike: dict[tuple[str, ...], list[int]] = {}  # a page may have thousands: only these can contradict
    for at, (_, one) in enumerate(known):
        alike.setdefault(("words", one.condition, one.words), []).append(at)
        if one.condition and one.tool:
            alike.setdefault(("tool", one.condition, one.tool), []).append(at)
    pairs = {pair for places in alike.values() for pair in combinations(places, 2)}
    for first, second in sorted(pairs):
        if contradict(known[first][1], known[second][1]):
            yield known[first][0], known[second][0]


def _folded(text: str) -> str:
    return " ".join(_NOISE.sub(" ", text).casefold().split())
