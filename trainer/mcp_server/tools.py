"""The tools, without the protocol: a name and arguments in, text and data out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.mcp_server.arguments import List, Read, Report, Search, checked
from trainer.mcp_server.outcomes import Outcomes, size_checked
from trainer.mcp_server.shelf import Shelf
from xpstore.names import without_invisible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.mcp_server.meaning import Meaning
    from trainer.mcp_server.shelf import Card, Catalogue, Page
    from trainer.store_door import StoreDoor
    from xpstore.location import Location
    from xpstore.model import Frozen

NAMED = 40
"""As many experiences are named in the description of the search; of more, the number is told."""
CONSIDERED = 50
"""Hits by words that are compared with those by meaning."""
READ_FIRST = "Lessons that were learned from earlier attempts, and kept in git."


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool as a client sees it."""

    name: str
    description: str
    arguments: type[Frozen]
    read_only: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says, as text for models and as data for programs: both say the same."""

    commit: str
    """What it comes from."""
    text: str
    data: dict[str, JsonValue]


class Tools:
    """The tools over one store. Use `async with door` around it."""

    def __init__(
        self, door: StoreDoor, ref: str = "", *, reports: bool = False, meaning: Meaning | None = None
    ) -> None:
        """With `reports` agents may say how a task came out, which goes into the inbox.

        With `meaning` a search goes by embeddings, too.
        """
        self._door = door
        self._shelf = Shelf(ref)
        self._outcomes = Outcomes()  # like the shelf, only used in the store's thread
        self._meaning = meaning
        self.reports = reports

    def cards(self, catalogue: Catalogue) -> list[ToolCard]:
        """Return the tools that there are; the search says what of the catalogue there is to find."""
        cards = [
            ToolCard(
                "search_experience",
                f"Find lessons for a task, before you begin it. {_inventory(catalogue)}"
                " Read those that fit with read_experience.",
                Search,
            ),
            ToolCard(
                "read_experience",
                "Read a lesson: when it holds, what to do, what not to do. Follow it unless the task's own"
                " instructions say otherwise.",
                Read,
            ),
            ToolCard(
                "list_experiences", "List the lessons by name, each with a line on when to read it.", List
            ),
        ]
        if self.reports:
            said = (
                "Say how a task came out, once it is over: what helps and what does not is learned from that."
            )
            cards.append(ToolCard("report_outcome", said, Report, read_only=False))
        return cards

    async def catalogue(self) -> Catalogue:
        """Return what is served now."""
        return await self._door.call(self._shelf.catalogue)

    async def read(self, name: str) -> Page:
        """Return an experience; it counts as read. Raises NotFoundError."""

        def work(loc: Location) -> Page:
            page = self._shelf.read(loc, name)
            self._outcomes.note_read(page.card.name, page.commit)
            return page

        return await self._door.call(work)

    async def call(self, name: str, arguments: Mapping[str, object] | None) -> Answer | None:
        """Return what a tool answers; None where there is no such tool. Raises XpError."""
        if name == "search_experience":
            return await self._search(checked(Search, arguments))
        if name == "read_experience":
            return _shown(await self.read(checked(Read, arguments).name))
        if name == "list_experiences":
            return await self._list(checked(List, arguments))
        if name == "report_outcome" and self.reports:
            return await self._door.call(lambda loc: self._report(loc, arguments))
        return None

    async def close(self) -> None:
        """Let go of the store."""
        await self._door.call(lambda _: self._shelf.close())

    async def _search(self, wanted: Search) -> Answer:
        limit = wanted.limit if self._meaning is None else CONSIDERED
        commit, hits = await self._door.call(lambda loc: self._shelf.search(loc, wanted.query, limit))
        if self._meaning is not None:
            catalogue, texts = await self._door.call(
                lambda loc: (self._shelf.catalogue(loc), self._shelf.texts(loc))
            )
            commit = catalogue.commit
            by_words = [(card.name, score) for card, score in hits if card.name in texts]
            scores = await self._meaning.ranked(wanted.query, by_words, texts)
            hits = [(catalogue.cards[name], score) for name, score in scores[: wanted.limit]]
        rows: list[JsonValue] = [{**_row(card), "score": score} for card, score in hits]
        lines = [f"- {_line(card)} (score {score:.2f})" for card, score in hits]
        text = "\n".join(lines) if lines else "No lesson fits these words. Others may: try other words."
        return Answer(commit, f"{text}\n\n{_from(commit)}", {"commit": commit, "experiences": rows})

    async def _list(self, wanted: List) -> Answer:
        catalogue, cards = await self._door.call(
            lambda loc: self._shelf.listed(loc, wanted.after, wanted.limit)
        )
        rows: list[JsonValue] = [_row(card) for card in cards]
        more = bool(cards) and cards[-1].name != next(reversed(catalogue.cards))
        after = cards[-1].name if more else ""
        lines = [f"- {_line(card)}" for card in cards] or ["There are none."]
        lines += [f"There are more: go on with after = {after}"] if more else []
        data: dict[str, JsonValue] = {
            "commit": catalogue.commit,
            "total": len(catalogue.cards),
            "experiences": rows,
            "next": after,
        }
        return Answer(catalogue.commit, "\n".join([*lines, "", _from(catalogue.commit)]), data)

    def _report(self, loc: Location, arguments: Mapping[str, object] | None) -> Answer:
        report = checked(Report, size_checked(dict(arguments or {})))  # type: ignore[arg-type]  # what JSON gave
        done = self._outcomes.report(loc, report, self._shelf.catalogue(loc).commit)
        said = f"On record as {done.rollout[:9]}: it is in the inbox, to be learned from."
        data: dict[str, JsonValue] = {
            "commit": done.snapshot,
            "rollout": done.rollout,
            "experiences": list(done.read),
        }
        return Answer(done.snapshot, f"{said}\n\n{_from(done.snapshot)}", data)


def _inventory(catalogue: Catalogue) -> str:
    count = len(catalogue.cards)
    if not count:
        return f"{READ_FIRST} There are none yet."
    named = f": {', '.join(catalogue.cards)}" if count <= NAMED else ""
    return f"{READ_FIRST} There are {count}{named}."


def _shown(page: Page) -> Answer:
    data: dict[str, JsonValue] = {"commit": page.commit, **_row(page.card), "text": page.text}
    return Answer(page.commit, f"{page.text}\n{_from(page.commit)}", data)


def _row(card: Card) -> dict[str, JsonValue]:
    return {"name": card.name, "description": without_invisible(card.description), "status": card.status}


def _line(card: Card) -> str:
    description = " ".join(without_invisible(card.description).split())
    return f"{card.name}: {description}" if description else card.name


def _from(commit: str) -> str:
    return f"(commit {commit})"
