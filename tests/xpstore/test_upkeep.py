from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import fsck, git, make_plan, make_store, page, texts, upsert
from xpstore import pack, upkeep
from xpstore.commit import commit
from xpstore.objects import make

if TYPE_CHECKING:
    from pathlib import Path


def test_many_packs_become_few_and_nothing_is_lost(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    assert not upkeep.fold(loc.repo)
    for number in range(upkeep.MANY):
        with pack.kept(loc.repo.pack_dir, [make("blob", b"%d" % number)]):
            pass
    assert upkeep.fold(loc.repo)
    assert len(list(loc.repo.pack_dir.glob("*.pack"))) < 5
    assert texts(loc, "main") == {"a": page("a")}
    commit(loc, [make_plan(loc, upsert("b", page("b")))], "main")
    fsck(tmp_path)


def test_the_user_s_settings_decide(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    git(tmp_path, "config", "gc.auto", "0")
    for number in range(upkeep.MANY + 1):
        with pack.kept(loc.repo.pack_dir, [make("blob", b"%d" % number)]):
            pass
    upkeep.fold(loc.repo)
    assert len(list(loc.repo.pack_dir.glob("*.pack"))) > upkeep.MANY
