"""Find experiences by what they are about: the ranking of `xp search`, of what agents are given."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from trainer.service.envelope import ok
from trainer.service.fs_routes import COMMIT
from trainer.service.tenants import Tenant, tenant_of
from trainer.service.uris import EXPERIENCES, SUFFIX, experience_uri, parse_uri
from xpstore.serving import rendered

router = APIRouter(prefix="/api/v1", tags=["experiences"])

MOST = 1_000
WHOLE = 2
"""The level of a text that is whole, in OpenViking's terms."""


class Wanted(BaseModel):
    """What to look for. Other keys, for other kinds of memory, change nothing."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    query: Annotated[str, Field(max_length=10_000)] = ""
    target_uri: str | Annotated[list[str], Field(max_length=100)] = ""
    """Where to look; "" = everywhere."""
    limit: Annotated[int, Field(ge=0, le=MOST)] = 10
    node_limit: Annotated[int | None, Field(ge=0, le=MOST)] = None
    score_threshold: Annotated[float | None, Field(ge=0, le=1)] = None
    read_content: bool | None = None
    """Whether each hit comes with its text."""


@router.post("/search/find")
@router.post("/search/search")
async def find(
    wanted: Wanted, tenant: Annotated[Tenant, Depends(tenant_of)], response: Response
) -> dict[str, object]:
    """Return the experiences that fit a query, best first; no other kind of memory is kept here."""
    targets = [wanted.target_uri] if isinstance(wanted.target_uri, str) else wanted.target_uri
    places = [parse_uri(target, tenant.user) for target in targets if target]
    most = wanted.limit if wanted.node_limit is None else min(wanted.limit, wanted.node_limit)
    commit, hits = await tenant.pages.search(wanted.query, MOST if places else most)
    response.headers[COMMIT] = commit
    rows = []
    for page, score in hits:
        here = (*EXPERIENCES, f"{page.name}{SUFFIX}")
        if places and not any(place.holds(here) for place in places):
            continue
        if wanted.score_threshold is not None and score < wanted.score_threshold:
            continue
        row = {
            "context_type": "memory",
            "uri": experience_uri(tenant.user, page.name),
            "level": WHOLE,
            "score": score,
            "abstract": page.description,
            "tags": [],
        }
        rows.append({**row, "content": rendered(page)} if wanted.read_content else row)
    rows = rows[:most]
    return ok({"memories": rows, "resources": [], "skills": [], "total": len(rows)})
