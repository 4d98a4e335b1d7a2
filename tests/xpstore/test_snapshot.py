from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import delete, git, make_plan, make_store, page, upsert
from xpstore.commit import commit
from xpstore.errors import NotFoundError
from xpstore.init import init
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from pathlib import Path


def test_empty_store(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    found = snapshot(loc, "main", versions=True)
    assert (found.policies, found.root_uri, found.snapshot_id) == (
        (),
        "experiences",
        loc.repo.resolve("main"),
    )
    with pytest.raises(NotFoundError, match="nowhere"):
        snapshot(loc, "nowhere")


def test_versions_count_first_parent_commits(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "config", "user.name", "Pat")
    git(tmp_path, "config", "user.email", "pat@example.org")
    loc = init(tmp_path / "s")
    first, second = page("退款"), page("退款", "Two.")
    commit(loc, [make_plan(loc, upsert("退款", first))], "main")
    commit(
        loc, [make_plan(loc, upsert("退款", second, first)), make_plan(loc, upsert("b", page("b")))], "main"
    )
    commit(loc, [make_plan(loc, upsert("c", page("c")))], "side")
    commit(loc, [make_plan(loc, upsert("c", page("c", "2"), page("c")), branch="side")], "side")
    git(tmp_path, "merge", "-q", "--no-ff", "--no-edit", "side")
    found = snapshot(loc, "main", versions=True)
    assert {p.name: p.version for p in found.policies} == {"b": 1, "c": 1, "退款": 2}
    assert [p.name for p in found.policies] == ["b", "c", "退款"]
    assert found.root_uri == "s/experiences"
    assert snapshot(loc, "main~1").get("退款").version is None
    commit(loc, [make_plan(loc, delete("退款", second))], "main")
    assert snapshot(loc, "main").get("退款") is None


def test_files_that_cannot_be_experiences_are_left_out_by_name(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    folder = tmp_path / "experiences"
    (folder / "deep").mkdir(parents=True)
    (folder / "fine.md").write_text("no front matter")
    (folder / "note.txt").write_text("x")
    (folder / "deep" / "x.md").write_text("x")
    (folder / "with space.md").write_text("x")
    (folder / "cafe\u0301.md").write_text("x")
    (folder / "latin.md").write_bytes(b"\xe9")
    (folder / "link.md").symlink_to("fine.md")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "by hand")
    found = snapshot(loc, "main")
    assert [(p.name, p.status) for p in found.policies] == [("fine", "production")]
    assert sorted(found.metadata["skipped"]) == ["cafe\u0301.md", "latin.md", "link.md", "with space.md"]
