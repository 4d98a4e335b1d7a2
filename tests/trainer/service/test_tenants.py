from __future__ import annotations

import asyncio

import pytest

from tests.builders import make_store
from tests.served import small_store
from trainer.service.tenants import Served, Tenants
from trainer.web.keys import ANYBODY, Caller
from trainer.web.problem import WebError
from xpstore.errors import NotAStoreError, RefusedError


def opened(served: Served, callers: list[str], work):
    async def main():
        async with Tenants.open(served, callers) as tenants:
            return work(tenants)

    return asyncio.run(main())


def test_without_keys_there_is_one_tenant(tmp_path):
    loc = make_store(tmp_path / "s")
    tenant = opened(Served(loc.repo.place), [""], lambda tenants: tenants.of(ANYBODY))
    assert (tenant.account, tenant.user) == ("default", "default")


def test_each_store_is_opened_once_however_many_keys_are_for_it(tmp_path):
    loc, other = make_store(tmp_path / "s"), make_store(tmp_path / "other")
    below = str(tmp_path / "s" / "experiences")
    callers = ["", str(tmp_path / "s"), below, str(other.repo.place), ""]
    (tmp_path / "s" / "experiences").mkdir(exist_ok=True)

    def look(tenants):
        return [tenants.of(Caller(f"k{i}", store)) for i, store in enumerate(callers)]

    tenants = opened(Served(loc.repo.place), callers, look)
    assert len({id(tenant.sessions) for tenant in tenants}) == 2
    assert tenants[0].pages is tenants[1].pages is tenants[2].pages is not tenants[3].pages
    assert [tenant.user for tenant in tenants] == ["k0", "k1", "k2", "k3", "k4"]


def test_a_store_that_was_not_there_at_the_start_is_not_open(tmp_path):
    loc = make_store(tmp_path / "s")

    def look(tenants):
        with pytest.raises(WebError, match="not open yet") as told:
            tenants.of(Caller("late", "/elsewhere"))
        return told.value.status

    assert opened(Served(loc.repo.place), [""], look) == 503


def test_a_missing_store_is_an_error_and_leaves_nothing_open(tmp_path):
    loc = small_store(tmp_path / "s")
    with pytest.raises(NotAStoreError):
        opened(Served(loc.repo.place), ["", str(tmp_path)], pytest.fail)
    assert opened(Served(loc.repo.place), [""], lambda tenants: tenants.of(ANYBODY).user) == "default"


def test_a_store_has_one_service(tmp_path):
    loc = make_store(tmp_path / "s")

    async def main():
        async with Tenants.open(Served(loc.repo.place), [""]):
            with pytest.raises(RefusedError):
                async with Tenants.open(Served(loc.repo.place), [""]):
                    pytest.fail("two services have the sessions of one store")

    asyncio.run(main())
