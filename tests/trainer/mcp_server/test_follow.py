from __future__ import annotations

import pytest

from trainer.mcp_server.follow import Changes, changes, name_of, uri_of
from trainer.mcp_server.shelf import Card, Catalogue
from xpstore.errors import NotFoundError


def catalogue(**pages: tuple[str, str]) -> Catalogue:
    """Return a catalogue of name → (description, blob)."""
    return Catalogue(
        "c", {name: Card(name, said, "production", blob) for name, (said, blob) in pages.items()}
    )


def test_who_has_to_look_again():
    before = catalogue(a=("A", "1"), b=("B", "1"))
    assert changes(before, before) == Changes(tools=False, listing=False, updated=())
    text = catalogue(a=("A", "2"), b=("B", "1"))
    assert changes(before, text) == Changes(tools=False, listing=False, updated=("a",))
    said = catalogue(a=("A", "1"), b=("B!", "2"))
    assert changes(before, said) == Changes(tools=False, listing=True, updated=("b",))
    more = catalogue(a=("A", "1"), c=("C", "1"))
    assert changes(before, more) == Changes(tools=True, listing=True, updated=("b", "c"))


def test_addresses_hold_any_name_and_no_other_store():
    assert uri_of("5a", "退票") == "xp://5a/%E9%80%80%E7%A5%A8"
    assert name_of("5a", uri_of("5a", "退票")) == "退票"
    for uri in ("xp://5b/refund", "file:///etc/passwd", "refund", "xp://5a"):
        with pytest.raises(NotFoundError):
            name_of("5a", uri)
    assert name_of("5a", "xp://5a/..%2Fxp") == "../xp"  # no name of an experience: nobody finds it
