"""A service over a small store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import make_plan, make_store, page, upsert
from trainer.service.app import make_service
from trainer.service.tenants import Served
from trainer.web.limits import WebLimits
from xpstore.commit import commit

if TYPE_CHECKING:
    from pathlib import Path

    from fastapi import FastAPI

    from trainer.web.keys import KeyFile
    from xpstore.location import Location

ENDLESS = WebLimits(per_second=0)
BASE = "viking://user/default/memories/experiences"


def small_store(where: Path, *names: str) -> Location:
    """Return a store with these pages, and a draft."""
    loc = make_store(where)
    draft = page("unsure").replace("description:", "status: draft\ndescription:")
    pages = [upsert(name, page(name, f"Ask why before {name}.", "Be kind.")) for name in names]
    commit(loc, [make_plan(loc, *pages, upsert("unsure", draft))], "main")
    return loc


def service(loc: Location, keys: KeyFile | None = None, **options: str) -> FastAPI:
    served = Served(loc.repo.place, loc.config.id, **options)
    return make_service(served, keys=keys, limits=ENDLESS)
