from __future__ import annotations

import pytest

from hooks import kept
from tests.hooking import picture, script


def test_a_hook_is_kept_beside_itself_and_run_under_its_own_name(tmp_path):
    file = script(tmp_path / "pre-commit", "x")
    script(tmp_path / "pre-commit.xpstore-1", "taken")
    name = kept.keep(file)
    assert name == kept.keep(file) == "pre-commit.xpstore-2"
    kept.link(tmp_path, name)
    kept.link(tmp_path, name)
    assert (tmp_path / kept.link_of(name)).read_text() == "x"
    assert kept.link_of(name) == "xpstore-2/pre-commit"
    kept.unlink(tmp_path, name)
    assert [file.name for file in sorted(tmp_path.iterdir()) if file.is_dir()] == []


def test_what_is_in_the_place_of_a_link_stays(tmp_path):
    script(tmp_path / "pre-commit.xpstore-1", "ours")
    script(tmp_path / "xpstore-1" / "pre-commit", "somebody's")
    script(tmp_path / "xpstore-2", "somebody's too")
    before = picture(tmp_path)
    for name in ("pre-commit.xpstore-1", "pre-commit.xpstore-2"):
        kept.link(tmp_path, name)
        kept.unlink(tmp_path, name)
    assert picture(tmp_path) == before


@pytest.mark.parametrize("name", ["pre-commit", "pre-commit.legacy", "xpstore-1", ""])
def test_what_others_call_their_files_is_no_kept_hook(tmp_path, name):
    assert (kept.is_kept(name), kept.link_of(name)) == (False, "")
    kept.unlink(tmp_path, name)
    assert tmp_path.is_dir()
