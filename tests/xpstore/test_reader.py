from __future__ import annotations

from xpstore.objects import FILE_MODE, Entry, Tree, make, parse_tree
from xpstore.reader import TreeReader
from xpstore.trees import splice

FILES = {"a/b/x": b"1", "a/y": b"2", "z": b"3"}


class Memory(TreeReader):
    def __init__(self) -> None:
        self.root, objects = splice(lambda _: Tree({}), None, FILES), {}
        objects = {o.id: parse_tree(o.data) for o in self.root.objects if o.kind == "tree"}
        self._trees = objects

    def read_tree(self, tree_id: str) -> Tree:
        return self._trees[tree_id]


def test_things_are_found_below_a_tree() -> None:
    reader = Memory()
    root = reader.root.tree
    assert reader.entry(root, "a/b/x") == Entry("x", FILE_MODE, make("blob", b"1").id)
    assert reader.entry(root, "a/z") is None
    assert [e.name for e in reader.children(root, "a")] == ["b", "y"]
    assert reader.children(root, "z") == []
    assert len(reader.folder(root, "none")) == 0
    assert dict(reader.files(root)) == {path: make("blob", data).id for path, data in FILES.items()}
    assert [path for path, _ in reader.files(root, "a/b")] == ["a/b/x"]
