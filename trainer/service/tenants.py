"""Who a request is for: an account with its user, and the store that its key is for.

Without keys there is one tenant, account and user `default`. With keys each key is an account and a user of
its own name; two keys of one store share its experiences, and neither sees the other's sessions.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Request  # noqa: TC002  # FastAPI reads the types of a dependency

from trainer.service.pages import ServedPages
from trainer.service.sessions import SessionService
from trainer.web.problem import WebError
from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from trainer.strategies import ModelChoice
    from trainer.web.keys import Caller


@dataclass(frozen=True, slots=True)
class Served:
    """What is served, and how it learns."""

    path: Path
    """A directory of the store of whoever has no store of his own."""
    store: str | None = None
    """Which store there, where there are several."""
    choice: ModelChoice | None = None
    """The model that learns; None = none does."""
    branch: str = ""
    """Where lessons go; "" = the candidate `live`."""
    ref: str = ""
    """What agents read; "" = the main branch."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """Who calls, and what belongs to him."""

    account: str
    """The owner of his sessions."""
    user: str
    """As in `viking://user/<user>/`."""
    sessions: SessionService
    pages: ServedPages


@dataclass(frozen=True, slots=True)
class _Open:
    sessions: SessionService
    pages: ServedPages


class Tenants:
    """The stores that are open, each once."""

    def __init__(self, stores: dict[str, _Open]) -> None:
        self._stores = stores

    @classmethod
    @asynccontextmanager
    async def open(cls, served: Served, callers: Iterable[str]) -> AsyncIterator[Tenants]:
        """Open the served store, and those of keys (`callers`: their paths, "" = the served one).

        Raises NotAStoreError, UsageError and RefusedError: a store that is missing, or served already.
        """
        by_root: dict[str, _Open] = {}
        stores: dict[str, _Open] = {}
        async with AsyncExitStack() as stack:
            for path in dict.fromkeys(callers):
                at, name = (Path(path), None) if path else (served.path, served.store)
                found = Location.find(at, name)
                root = f"{found.repo.common_dir}\0{found.config.id}"
                if root not in by_root:
                    by_root[root] = await _opened(stack, at, found.config.id, served)
                stores[path] = by_root[root]
            yield cls(stores)

    def of(self, caller: Caller) -> Tenant:
        """Return who calls. Raises WebError (503) for a key whose store was not there at the start."""
        found = self._stores.get(caller.store)
        if found is None:
            raise WebError(
                503,
                "the store of this key is not open yet",
                hint="xp serve opens it when it is started again",
            )
        return Tenant(caller.name, caller.name, found.sessions, found.pages)


async def _opened(stack: AsyncExitStack, at: Path, store: str, served: Served) -> _Open:
    opening = SessionService.open(
        at, store=store, choice=served.choice, branch=served.branch, served=served.ref
    )
    sessions = await stack.enter_async_context(opening)
    pages = await stack.enter_async_context(ServedPages(at, store, served.ref))
    return _Open(sessions, pages)


async def tenant_of(request: Request) -> Tenant:
    """Return who calls; for `Depends`, which takes a thread for what is not async."""
    tenants: Tenants = request.app.state.tenants
    return tenants.of(request.state.caller)
