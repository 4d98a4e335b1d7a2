from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.builders import git
from xpstore.objects import (
    EMPTY_TREE,
    FILE_MODE,
    TREE_MODE,
    Entry,
    Person,
    Tree,
    make,
    make_commit,
    make_tree,
    parse_tree,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_ids_are_git_s() -> None:
    assert make("blob", b"").id == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert make_tree([]).id == EMPTY_TREE


def test_tree_round_trip_in_git_s_order() -> None:
    blob = make("blob", b"").id
    tree = make_tree(
        [Entry("a", 0o040000, blob), Entry("a.b", 0o100644, blob), Entry("\udcff", 0o120000, blob)]
    )
    assert [e.name for e in parse_tree(tree.data)] == ["a.b", "a", "\udcff"]
    assert make_tree(parse_tree(tree.data)) == tree


def test_commit_is_one_that_git_accepts(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    tree = make_tree([])
    for name in ("Pat", "gpt <9>\n", "  ", "ü.", "<>", "a\ud800b"):
        who = Person(name, "a b@<x>", 1_700_000_000, -90)
        commit = make_commit(tree.id, [], who, who, "subject\n\nböd\udcffy\n")
        for item in (tree, commit):
            command = ["git", "hash-object", "-w", "-t", item.kind, "--stdin"]
            out = subprocess.run(command, cwd=tmp_path, input=item.data, capture_output=True, check=True)
            assert out.stdout.decode().strip() == item.id
    git(tmp_path, "fsck", "--strict")
    assert git(tmp_path, "show", "-s", "--format=%ad", "--date=iso", commit.id) == "2023-11-14 20:43:20 -0130"


def test_what_differs_between_two_trees_in_gits_order() -> None:
    old = Tree({}).changed({name: Entry(name, FILE_MODE, "1" * 40) for name in ("a", "b", "退款")})
    new = old.changed(
        {"b": None, "退款": Entry("退款", FILE_MODE, "2" * 40), "c": Entry("c", TREE_MODE, "3" * 40)}
    )
    assert old.changes(old) == {}
    assert list(old.changes(new)) == ["b", "c", "退款"]
    assert old.changes(new)["b"] == (old.get("b"), None)
    assert old.changes(new)["c"] == (None, new.get("c"))
    assert [entry and entry.id[0] for entry in old.changes(new)["退款"]] == ["1", "2"]
