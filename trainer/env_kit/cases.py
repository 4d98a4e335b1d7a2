"""The cases of a runtime: in pages for clients, whole for itself."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from trainer.domain import Case
from trainer.env_kit.foreign import reason
from trainer.env_kit.runtime import CaseQuery, TakesInput
from trainer.remote.protocol import CaseJson, CasePage
from trainer.remote.values import case_id, unlabelled
from trainer.web.problem import WebError
from xpstore.errors import UsageError, XpError
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from trainer.env_kit.aside import Aside
    from trainer.env_kit.runtime import EnvironmentRuntime
    from trainer.remote.protocol import CasesQuery

SLICES = 64
"""Answers of the runtime that are remembered."""


class CaseBook:
    """What a runtime has cases of, asked for once. Belongs to one event loop."""

    def __init__(self, runtime: EnvironmentRuntime, aside: Aside, *, labels: bool = False) -> None:
        """`labels`: clients are sent, too, what says how a case is to come out."""
        self._runtime = runtime
        self._aside = aside
        self._labels = labels
        self._slices: OrderedDict[str, dict[str, Case]] = OrderedDict()
        self._turn = asyncio.Lock()

    async def page(self, query: CasesQuery) -> CasePage:
        """Return one page. Raises UsageError for a slice that there is not, WebError for a wrong cursor."""
        asked = CaseQuery(query.dataset, query.domain, query.split, query.filters)
        cases = list((await self._slice(asked)).values())
        start = _start(query.cursor, len(cases))
        shown = cases[start : start + query.limit]
        end = start + len(shown)
        return CasePage(
            cases=tuple(CaseJson.of(case if self._labels else unlabelled(case)) for case in shown),
            next_cursor=str(end) if end < len(cases) else None,
        )

    async def whole(self, sent: CaseJson, told: object) -> Case:
        """Return the runtime's own case that a client means, or the case as it was sent.

        `told` is the id that the client has for it; clients of others send none, and all they send must be
        in the runtime's own case then. Raises WebError (409) where the runtime has another one of that name.
        """
        own = await self._own(sent)
        if own is None:
            return sent.case()
        is_meant = case_id(own) == told if isinstance(told, str) else _agrees(sent.case(), own)
        if is_meant:
            return own
        if isinstance(self._runtime, TakesInput):
            return sent.case()
        raise WebError(
            409,
            f"case {sent.name!r} is another one here: its task is not what this service has under that name",
            hint="load the cases again",
        )

    async def _own(self, sent: CaseJson) -> Case | None:
        """Return the runtime's case of this name, in the slice that the case names."""
        where = {**sent.input, **sent.metadata}
        dataset, domain, split = (str(where.get(field) or "") for field in ("dataset", "domain", "split"))
        try:
            return (await self._slice(CaseQuery(dataset, domain, split))).get(sent.name)
        except UsageError:  # it has no such slice: a case of the client's own
            return None

    async def _slice(self, asked: CaseQuery) -> dict[str, Case]:
        key = content_id([asked.dataset, asked.domain, asked.split, dict(asked.filters)])
        if key not in self._slices:
            async with self._turn:  # it is asked once, however many wait; and takes one thread, however slow
                if key not in self._slices:
                    await self._ask(key, asked)
        self._slices.move_to_end(key)
        return self._slices[key]

    async def _ask(self, key: str, asked: CaseQuery) -> None:
        self._slices[key] = await self._aside.call(self._asked, asked)
        if len(self._slices) > SLICES:
            self._slices.popitem(last=False)

    def _asked(self, asked: CaseQuery) -> dict[str, Case]:
        """Return the runtime's cases by name; what it raises but for an XpError is the service's fault."""
        try:
            cases = [_whole(case) for case in self._runtime.cases(asked)]
        except XpError:
            raise
        except BaseException as error:  # anybody's code: sys.exit() would end the service
            raise WebError(500, f"the environment cannot say its cases: {reason(error)}") from error
        found = {case.name: case for case in cases}
        if len(found) < len(cases):
            raise WebError(500, "two cases of this environment have one name; its author has to rename one")
        return found


def _whole(case: object) -> Case:
    if not isinstance(case, Case):
        raise TypeError(f"{type(case).__name__} is no Case")
    return case


def _start(cursor: str | None, count: int) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10 and int(cursor) < count):
        raise WebError(400, "this cursor is none that was given for these cases", hint="begin without one")
    return int(cursor)


def _agrees(sent: Case, own: Case) -> bool:
    """Say whether nothing of what was sent is otherwise in the runtime's own case."""
    if sent.task_signature not in {own.task_signature, ""}:
        return False
    return all(key in own.input and own.input[key] == value for key, value in sent.input.items())
