"""Near copies of cases: the same request in slightly other words, which teaches what it is measured by.

Compared are the texts that people would read, not the data around them. A text that three cases or more have
is their common ground, such as a policy in every prompt, and says nothing. Two requests with different
numbers or ids in them are two requests, however alike: suites are often made from a few patterns.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.domain import Case

NEAR = 0.8
"""Share of the word groups of two requests that both have, from which on one is a copy of the other."""
WORDS = 8
"""A text of fewer words may be the same by chance."""
GROUP = 2
"""Words in a row that are compared."""
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\w*\d\w*")


def near_copy(suites: Mapping[str, Sequence[Case]]) -> tuple[tuple[str, str], tuple[str, str], float] | None:
    """Return two cases of different suites, each as (suite, name), that are near copies, and how near.

    None where there are none. Cases without a text of their own are compared with nothing.
    """
    texts = {
        (suite, case.name): list(_texts(case.input)) for suite, cases in suites.items() for case in cases
    }
    shared = Counter(text for own in texts.values() for text in set(own))
    groups = {
        where: {group for text in own if shared[text] <= 2 for group in _groups(text)}
        for where, own in texts.items()
    }
    numbers = {where: " ".join(sorted(_NUMBER.findall(" ".join(own)))) for where, own in texts.items()}
    users = Counter(group for own in groups.values() for group in own)
    holders: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = defaultdict(list)
    for where, own in groups.items():
        # two that are near share one of their rarest groups: the words of a pattern are not looked up
        rarest = sorted(own, key=lambda group: (users[group], group))[: len(own) - int(NEAR * len(own)) + 1]
        same = [holders[numbers[where], group] for group in rarest]
        for other in dict.fromkeys(other for some in same for other in some if other[0] != where[0]):
            share = len(own & groups[other]) / len(own | groups[other])
            if share >= NEAR:
                return other, where, share
        for some in same:
            some.append(where)
    return None


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield the texts of at least WORDS words in a case's input, spaces and case folded."""
    if isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str) and len(words := _WORD.findall(value.casefold())) >= WORDS:
        yield " ".join(words)


def _groups(text: str) -> Iterator[tuple[str, ...]]:
    words = text.split()
    for at in range(len(words) - GROUP + 1):
        yield tuple(words[at : at + GROUP])
