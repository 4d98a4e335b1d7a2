"""Whom to suspect before the search: the updates of pages that the agent had read when it failed.

A page was read where a message of the rollout has one of its statements word for word, however it came there.

    A case that has both passed and failed has one vote, spread evenly over the suspects that changed a page
    which one of its rollouts had read (those that passed count too: the page may be gone since).
    The prior of a suspect is  FLOOR / suspects + (1 - FLOOR) * its votes / all votes.

Without votes it is even. The floor is for updates that did their harm otherwise, such as by hiding a page.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore.serving import readable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from trainer.domain import Message
    from xpstore.experience import ExperienceSet

FLOOR = 0.3
SHORTEST = 16
"""Characters of a statement that tells a page: a shorter one may stand anywhere."""


def statements_of(pages: ExperienceSet) -> dict[str, tuple[str, ...]]:
    """Return page → the statements that tell it."""
    return {
        page.name: tuple(s.key for s in page.document.statements() if len(s.key) >= SHORTEST)
        for page in readable(pages)[0]
    }


def pages_read(messages: Sequence[Message], statements: dict[str, tuple[str, ...]]) -> frozenset[str]:
    """Return the pages of which some statement stands in the messages."""
    texts = [message.text for message in messages]
    texts += [part.tool_output for message in messages for part in message.tools]
    said = "\n".join(" ".join(text.split()) for text in texts)
    return frozenset(name for name, keys in statements.items() if any(key in said for key in keys))


def prior(changed: Sequence[Collection[str]], read: Iterable[Collection[str]]) -> tuple[float, ...]:
    """Return suspect → prior.

    `changed` has the pages that each suspect changed, `read` the pages that the rollouts of each case had
    read, one entry per case that has both passed and failed.
    """
    votes = [0.0] * len(changed)
    for pages in read:
        voted = [n for n, names in enumerate(changed) if not set(names).isdisjoint(pages)]
        for number in voted:
            votes[number] += 1 / len(voted)
    total = sum(votes)
    even = 1 / len(changed)
    if not total:
        return (even,) * len(changed)
    return tuple(FLOOR * even + (1 - FLOOR) * vote / total for vote in votes)
