"""Experiences as files: list, look, read. Of one commit each, which the header X-Xp-Commit names.

Agents are given what has status production or staging. Nothing is written here: an experience changes by a
plan, which is a commit.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Depends, Query, Response

from trainer.service.envelope import ok
from trainer.service.tenants import Tenant, tenant_of
from trainer.service.uris import (
    EXPERIENCES,
    MEMORIES,
    SESSIONS,
    SUFFIX,
    Place,
    experience_uri,
    missing,
    parse_uri,
    uri_of,
)
from trainer.web.problem import WebError
from xpstore.serving import rendered

if TYPE_CHECKING:
    from trainer.service.pages import Shelf
    from xpstore.experience import Experience

router = APIRouter(prefix="/api/v1", tags=["experiences"])

COMMIT = "X-Xp-Commit"
Uri = Annotated[str, Query(max_length=4_000, description="A viking:// name")]
Who = Annotated[Tenant, Depends(tenant_of)]
MOST = 1_000_000


@router.get("/fs/ls")
async def ls(  # noqa: PLR0913, PLR0917  # the parameters of the route
    tenant: Who,
    response: Response,
    uri: Uri = "viking://",
    recursive: bool = False,  # noqa: FBT001, FBT002
    simple: bool = False,  # noqa: FBT001, FBT002
    abs_limit: Annotated[int, Query(ge=0, le=MOST)] = 256,
    node_limit: Annotated[int, Query(ge=0, le=MOST)] = 1_000,
    offset: Annotated[int, Query(ge=0, le=MOST)] = 0,
    limit: Annotated[int | None, Query(ge=0, le=MOST)] = None,
    sort_by: Literal["name", "size", "time", "mtime", "modTime"] | None = None,
    sort_order: Literal["asc", "desc"] = "asc",
) -> dict[str, object]:
    """List a folder: rows, or with `simple` names only; with `recursive` all that is below."""
    place = parse_uri(uri, tenant.user)
    shelf = await tenant.pages.shelf()
    response.headers[COMMIT] = shelf.commit
    rows = _below(tenant.user, place, shelf, abs_limit, recursive=recursive)
    if rows is None:
        raise missing(uri, "folder") if place.experience is None else _no_folder(uri)
    if sort_by is not None:
        rows.sort(key=lambda row: _sorting(row, sort_by), reverse=sort_order == "desc")
    most = node_limit if limit is None else limit
    shown = rows[offset : offset + most]
    return ok([row["uri"] for row in shown] if simple else shown, has_more=len(rows) > offset + most)


@router.get("/fs/stat")
async def stat(tenant: Who, response: Response, uri: Uri) -> dict[str, object]:
    """Tell what a name is: size, time of the last change, description, and the status of an experience."""
    place = parse_uri(uri, tenant.user)
    shelf = await tenant.pages.shelf()
    response.headers[COMMIT] = shelf.commit
    name = place.experience
    if name is None:
        if _below(tenant.user, place, shelf, 0, recursive=False) is None:
            raise missing(uri, "resource")
        row = _folder(uri.rstrip("/") if place.parts else uri, shelf)
        return ok({**row, "name": place.parts[-1] if place.parts else ""})
    page = _page(shelf, name, uri)
    row = _row(tenant.user, page, shelf, MOST)
    return ok({**row, "name": f"{name}{SUFFIX}", "status": page.status, "blob": page.blob})


@router.get("/content/read")
async def read(  # noqa: PLR0913, PLR0917  # the parameters of the route
    tenant: Who,
    response: Response,
    uri: Uri,
    offset: Annotated[int, Query(ge=0, le=MOST, description="Lines to leave out")] = 0,
    limit: Annotated[int, Query(ge=-1, le=MOST, description="Lines to return; -1 = all")] = -1,
    raw: bool = False,  # noqa: FBT001, FBT002
) -> dict[str, object]:
    """Read an experience as agents do: name, description, body; with `raw` the file as it is in git."""
    place = parse_uri(uri, tenant.user)
    if place.session is not None:
        session, rest = place.session
        return ok(_lines(await tenant.sessions.read_file(tenant.user, session, rest), offset, limit))
    shelf = await tenant.pages.shelf()
    response.headers[COMMIT] = shelf.commit
    name = place.experience
    if name is None:
        raise missing(uri, "file")
    page = _page(shelf, name, uri)
    return ok(_lines(page.text if raw else rendered(page), offset, limit))


@router.post("/content/write", status_code=403)
@router.post("/content/batch-write", status_code=403)
@router.delete("/fs", status_code=403)
@router.post("/fs/mkdir", status_code=403)
@router.post("/fs/mv", status_code=403)
@router.post("/fs/cp", status_code=403)
async def write() -> dict[str, object]:
    """Refuse: experiences change by plans, which are commits."""
    raise WebError(
        403,
        "experiences are not written here: each change is a commit",
        hint="commit sessions to learn from, or edit the page in the repository with git",
    )


def _below(
    user: str, place: Place, shelf: Shelf, abs_limit: int, *, recursive: bool
) -> list[dict[str, object]] | None:
    """Return the rows of a folder; None where there is none of this name."""
    folders = [(), MEMORIES, EXPERIENCES, SESSIONS]
    if not place.is_above and place.parts not in folders:
        return None
    above = [uri_of(user)] if place.is_above else []
    depth = -1 if place.is_above else len(place.parts)
    above += [
        uri_of(user, *folder)
        for folder in folders[1:]
        if folder != place.parts and place.holds(folder) and (recursive or len(folder) == depth + 1)
    ]
    rows = [_folder(uri, shelf) for uri in above]
    if place.parts == EXPERIENCES or (recursive and place.holds(EXPERIENCES)):
        rows += [_row(user, page, shelf, abs_limit) for page in shelf.pages.values()]
    return rows


def _folder(uri: str, shelf: Shelf) -> dict[str, object]:
    return {"uri": uri, "size": 0, "isDir": True, "modTime": _time(shelf.newest), "abstract": ""}


def _row(user: str, page: Experience, shelf: Shelf, abs_limit: int) -> dict[str, object]:
    return {
        "uri": experience_uri(user, page.name),
        "size": len(page.text.encode("utf-8", "surrogatepass")),
        "isDir": False,
        "modTime": _time(shelf.changed[page.name]),
        "abstract": page.description[:abs_limit],
    }


def _sorting(row: dict[str, object], by: str) -> tuple[int, str]:
    key, uri = {"name": "uri", "size": "size"}.get(by, "modTime"), str(row["uri"])
    value = row[key]
    return (value, uri) if isinstance(value, int) else (0, f"{value}\0{uri}")


def _page(shelf: Shelf, name: str, uri: str) -> Experience:
    """Return an experience. Raises WebError (404)."""
    page = shelf.pages.get(name)
    if page is None:
        raise missing(uri, "file")
    return page


def _no_folder(uri: str) -> WebError:
    return WebError(400, f"{uri[:200]} is a file, not a folder", hint="GET /api/v1/content/read reads it")


def _lines(text: str, offset: int, limit: int) -> str:
    if not offset and limit < 0:
        return text
    lines = text.split("\n")
    return "\n".join(lines[offset:] if limit < 0 else lines[offset : offset + limit])


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
