"""Reads the experiences that a submission only names: from a clone, or from `xp serve`.

Where they are read is the operator's word. A request says no more than the snapshot's id, and gets that
snapshot or an error, never another one.
"""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from trainer.remote.client import HttpError, JsonClient
from xpstore.errors import NotFoundError, UsageError
from xpstore.experience import Experience, ExperienceSet
from xpstore.location import Location
from xpstore.names import check_name
from xpstore.snapshot import SUFFIX, snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.env_kit.intake import Reader

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
COMMIT_HEADER = "x-xp-commit"
FOLDER = "viking://~/memories/experiences"
MOST_PAGES = 100_000


def reader_of(source: str, key: str = "") -> Reader:
    """Return what reads from a folder with a store, a `file://` address, or the address of an `xp serve`.

    Raises UsageError, NotAStoreError where there is none.
    """
    scheme = urlsplit(source).scheme
    if scheme in {"http", "https"}:
        JsonClient(source, key=key)  # what is wrong with either is told now
        return lambda _root, snapshot_id: asyncio.run(_served(source, key, snapshot_id))
    path = Path(unquote(urlsplit(source).path) if scheme == "file" else source).absolute()
    Location.find(path)
    return lambda _root, snapshot_id: _stored(path, snapshot_id)


def _stored(path: Path, snapshot_id: str) -> ExperienceSet:
    """Return the experiences at a commit of a store; each call opens it, in whatever thread it is."""
    _check(snapshot_id)
    return snapshot(Location.find(path), snapshot_id)


async def _served(url: str, key: str, snapshot_id: str) -> ExperienceSet:
    """Return the experiences that an `xp serve` gives to agents, if they are those of the snapshot."""
    _check(snapshot_id)
    async with JsonClient(url, key=key) as client:
        listing: dict[str, str | int] = {"uri": FOLDER, "limit": MOST_PAGES, "simple": "true"}
        rows = await _result(client, "/api/v1/fs/ls", listing, snapshot_id)
        if not isinstance(rows, list):
            raise HttpError("wrong answer", f"{client.host} sent no list of pages")
        pages = [await _page(client, str(row), snapshot_id) for row in rows]
    return ExperienceSet(root_uri=FOLDER, policies=tuple(pages), snapshot_id=snapshot_id)


async def _page(client: JsonClient, uri: str, snapshot_id: str) -> Experience:
    text = await _result(client, "/api/v1/content/read", {"uri": uri, "raw": "true"}, snapshot_id)
    if not isinstance(text, str):
        raise HttpError("wrong answer", f"{client.host} sent no text of a page")
    return Experience(name=check_name(uri.rpartition("/")[2].removesuffix(SUFFIX)), text=text)


async def _result(
    client: JsonClient, path: str, params: Mapping[str, str | int], snapshot_id: str
) -> JsonValue:
    """Return the result of a call. Raises NotFoundError where it is of another commit."""
    reply = await client.send("GET", path, params=params)
    commit = reply.headers.get(COMMIT_HEADER, "")
    if commit != snapshot_id:
        raise NotFoundError(
            f"{client.host} serves experiences at {commit[:12] or 'no commit'}, not at {snapshot_id[:12]}",
            hint="send the experiences with the rollout, or let it serve that commit",
        )
    return reply.value.get("result") if isinstance(reply.value, dict) else None


def _check(snapshot_id: str) -> None:
    if not _COMMIT.fullmatch(snapshot_id):
        raise UsageError(
            "the snapshot of the submission is no commit, so its experiences cannot be read here",
            hint="send the experiences with the rollout",
        )
