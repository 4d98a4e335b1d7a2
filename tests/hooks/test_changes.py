from __future__ import annotations

from hooks import changes
from tests.builders import git
from tests.hooking import plain_repository
from xpstore.objects import EMPTY_TREE


def test_every_kind_of_change_with_its_path_as_it_is(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    folder = repo.place / "experiences"
    folder.mkdir()
    for name in ("gone", "changed", "kept", "tab\tand \udcff".encode("utf-8", "surrogateescape")):
        (folder / name if isinstance(name, str) else folder / name.decode("utf-8", "surrogateescape")).touch()
    git(repo.place, "add", ".")
    old = git(repo.place, "write-tree")
    (folder / "gone").unlink()
    (folder / "changed").unlink()
    (folder / "changed").symlink_to("kept")
    git(repo.place, "add", ".")
    new = git(repo.place, "write-tree")
    found = {c.path: c for c in changes.between(repo, old, new)}
    assert found.keys() == {"experiences/gone", "experiences/changed"}
    assert found["experiences/gone"].after is None
    assert not found["experiences/changed"].after.is_file
    below = repo.entry(old, "experiences").id
    paths = [c.path for c in changes.between(repo, EMPTY_TREE, below, "experiences")]
    assert paths == [f"experiences/{name}" for name in ("changed", "gone", "kept", "tab\tand \udcff")]
