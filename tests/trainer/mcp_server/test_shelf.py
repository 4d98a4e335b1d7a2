from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, page
from tests.trainer.mcp_server.shelves import put, shelves
from trainer.mcp_server.shelf import Shelf
from xpstore.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return shelves(tmp_path / "s")


def test_only_what_is_served_is_there(loc):
    shelf = Shelf()
    catalogue = shelf.catalogue(loc)
    assert list(catalogue.cards) == ["exchange", "refund", "退票"]
    assert catalogue.commit == loc.resolve("main")
    _, hits = shelf.search(loc, "refund secret plan old way", 9)
    assert [card.name for card, _ in hits] == ["refund"]
    for name in ("secret-plan", "old-way", "older-way", "broken", "nothing", "../xp", ""):
        with pytest.raises(NotFoundError):
            shelf.read(loc, name)
    assert "Ask for the receipt." in shelf.read(loc, "refund").text
    shelf.close()


def test_every_answer_is_of_the_branch_as_it_is(loc):
    shelf = Shelf("main")
    before = shelf.catalogue(loc)
    assert shelf.catalogue(loc) is before
    shelf.search(loc, "refund", 1)
    commit = put(loc, refund=page("refund", "Never refund twice."), exchange=None, credit=page("credit"))
    assert shelf.read(loc, "refund").commit == commit
    assert "twice" in shelf.read(loc, "refund").text
    assert shelf.search(loc, "twice", 1)[0] == commit
    assert shelf.catalogue(loc).changed_from(before) == {"refund", "exchange", "credit"}
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Nothing")
    assert shelf.catalogue(loc).commit != commit
    shelf.close()


def test_a_commit_that_is_pinned_stays(loc):
    pinned = loc.resolve("main")
    shelf = Shelf(pinned)
    put(loc, credit=page("credit"))
    assert shelf.catalogue(loc).commit == pinned
    assert "credit" not in shelf.catalogue(loc).cards


def test_listing_goes_on_after_a_name(loc):
    shelf = Shelf()
    assert [card.name for card in shelf.listed(loc, "", 2)[1]] == ["exchange", "refund"]
    assert [card.name for card in shelf.listed(loc, "refund", 2)[1]] == ["退票"]
    assert shelf.listed(loc, "退票", 2)[1] == []
    shelf.close()
    shelf.close()
