from __future__ import annotations

import asyncio

import pytest

from tests.builders import delete, git, make_plan, make_store, page, upsert
from trainer.service.pages import ServedPages
from xpstore.commit import commit
from xpstore.errors import NotFoundError


def draft(name: str) -> str:
    return page(name).replace("description:", "status: draft\ndescription:")


@pytest.fixture
def store(tmp_path):
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("refund", page("refund")), upsert("new", draft("new")))], "main")
    (tmp_path / "s" / "experiences" / "broken.md").write_text("---\nname: [\n---\n")
    git(tmp_path / "s", "add", ".")
    git(tmp_path / "s", "commit", "-q", "-m", "broken", "--date=2026-01-02T03:04:05Z")
    return loc


def served(store, work, ref: str = ""):
    async def main():
        async with ServedPages(store.repo.place, store.config.id, ref) as pages:
            return await work(pages)

    return asyncio.run(main())


def test_agents_are_given_what_is_served_and_can_be_read(store):
    shelf = served(store, lambda pages: pages.shelf())
    assert [*shelf.pages] == ["refund"]
    assert shelf.commit == git(store.repo.place, "rev-parse", "main")
    assert shelf.changed == {"refund": int(git(store.repo.place, "log", "-1", "--format=%ct", "main~1"))}
    assert shelf.newest == shelf.changed["refund"]


def test_it_is_read_once_until_the_branch_moves(store):
    async def work(pages):
        first, second = await asyncio.gather(pages.shelf(), pages.shelf())
        commit(store, [make_plan(store, upsert("more", page("more")))], "main")
        third = await pages.shelf()
        commit(store, [make_plan(store, delete("refund", page("refund")))], "main")
        return first, second, third, await pages.shelf()

    first, second, third, fourth = served(store, work)
    assert first is second
    assert [[*shelf.pages] for shelf in (first, third, fourth)] == [["refund"], ["more", "refund"], ["more"]]
    assert len({shelf.commit for shelf in (first, third, fourth)}) == 3


def test_another_ref_may_be_served(store):
    shelf = served(store, lambda pages: pages.shelf(), "main~2")
    assert (shelf.pages, shelf.newest) == ({}, 0)
    with pytest.raises(NotFoundError):
        served(store, lambda pages: pages.shelf(), "no-such-branch")


def test_it_finds_what_is_served(store):
    found, hits = served(store, lambda pages: pages.search("refund new", 10))
    assert found == git(store.repo.place, "rev-parse", "main")
    assert [hit.name for hit, _ in hits] == ["refund"]
