from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import cache
from xpstore.cache import ObjectCache
from xpstore.objects import FILE_MODE, Entry, Person, Tree, make, make_commit, make_tree

if TYPE_CHECKING:
    import pytest

WHO = Person("Pat", "pat@example.org", 1, 0)


def test_what_was_written_is_known() -> None:
    blob = make("blob", b"x")
    tree = make_tree([Entry("x", FILE_MODE, blob.id)])
    commit = make_commit(tree.id, [], WHO, WHO, "x\n")
    known = ObjectCache()
    known.add_written([blob, tree, commit])
    assert known.trees == {tree.id: tree.tree}
    assert {i: c.tree for i, c in known.commits.items()} == {commit.id: tree.id}


def test_it_does_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "TREE_LINES", 10)
    monkeypatch.setattr(cache, "COMMITS", 10)
    known = ObjectCache()
    for number in range(50):
        known.add_tree(str(number), Tree({b"a": b"1", b"b": b"2"}))
        made = make_commit("0" * 40, [], WHO, WHO, f"{number}\n")
        known.add_written([made])
        assert known.trees.keys() >= {str(number)}
        assert made.id in known.commits
        assert len(known.trees) <= 6
        assert len(known.commits) <= 10
