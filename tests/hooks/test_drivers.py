from __future__ import annotations

import shutil

import pytest

from hooks import drivers
from tests.builders import git, make_store
from tests.hooking import attempt, picture, stand_in, write_page


@pytest.mark.parametrize("prefix", ["", "agents/desk", 'odd "[na]me"/ü *'])
def test_pages_and_nothing_else_are_merged_by_statement(tmp_path, prefix):
    loc = make_store(tmp_path / "repo" / prefix) if not prefix else _inside(tmp_path, prefix)
    place = loc.repo.place
    before = picture(place)
    assert drivers.install(loc) == ["merge driver", "attributes"]
    assert drivers.install(loc) == []
    assert drivers.state(loc) == {"driver": True, "attributes": True, "effective": True}
    page = loc.in_tree("experiences/a.md")
    others = [loc.in_tree("other.md"), f"x/{page}", loc.in_tree("experiences/a.txt")]
    out = git(place, "check-attr", "-z", "merge", "diff", "--", page, *others).split("\0")
    said = list(zip(out[::3], out[1::3], out[2::3], strict=False))
    assert said[:2] == [(page, "merge", "xp"), (page, "diff", "markdown")]
    assert {value for _, _, value in said[2:]} == {"unspecified"}
    assert drivers.uninstall(loc) == ["attributes", "merge driver"]
    assert drivers.uninstall(loc) == []
    assert picture(place) == before
    assert drivers.state(loc) == {"driver": False, "attributes": False, "effective": False}


def _inside(tmp_path, prefix):
    git(tmp_path, "init", "-q", "-b", "main", "repo")
    return make_store(tmp_path / "repo" / prefix)


def test_what_people_have_set_up_themselves_is_left_alone(tmp_path):
    loc = make_store(tmp_path / "repo")
    git(loc.repo.place, "config", "merge.xp.driver", "mine %A")
    file = loc.repo.common_dir / "info" / "attributes"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"*.md merge=union\n# no end")
    before = picture(loc.repo.place)
    assert drivers.install(loc) == ["attributes"]
    assert drivers.state(loc)["effective"] is False  # their line comes later, so it wins
    assert drivers.uninstall(loc) == ["attributes"]
    assert picture(loc.repo.place) == before


def test_the_driver_stays_as_long_as_a_store_needs_it(tmp_path):
    first = _inside(tmp_path, "first")
    second = make_store(tmp_path / "repo" / "second", name="second")
    drivers.install(first)
    assert drivers.install(second) == ["attributes"]
    assert drivers.uninstall(first) == ["attributes"]
    assert drivers.state(second)["effective"]
    assert drivers.uninstall(second) == ["attributes", "merge driver"]


def conflicted(tmp_path):
    loc = make_store(tmp_path / "repo")
    drivers.install(loc)
    write_page(loc.repo.place, "a", "One.")
    git(loc.repo.place, "commit", "-q", "-m", "Base")
    git(loc.repo.place, "checkout", "-q", "-b", "theirs")
    write_page(loc.repo.place, "a", "One, they say.")
    git(loc.repo.place, "commit", "-q", "-m", "Theirs")
    git(loc.repo.place, "checkout", "-q", "main")
    write_page(loc.repo.place, "a", "One, we say.")
    git(loc.repo.place, "commit", "-q", "-m", "Ours")
    return loc.repo.place


def test_git_merge_calls_it(tmp_path, monkeypatch):
    said = stand_in(tmp_path, monkeypatch)
    place = conflicted(tmp_path)
    monkeypatch.setenv("XP_CODE", "1")
    code, _ = attempt(place, "merge", "theirs")
    assert code == 1
    assert said.read_text().split()[0] == "merge-driver"
    assert said.read_text().split()[-1] == "experiences/a.md"


def test_where_xp_is_missing_both_sides_are_still_in_the_file(tmp_path, monkeypatch):
    place = conflicted(tmp_path)
    bare = tmp_path / "programs"
    bare.mkdir()
    for name in ("git", "sh"):
        (bare / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(bare))
    code, _ = attempt(place, "merge", "theirs")
    text = (place / "experiences" / "a.md").read_text()
    assert code == 1
    assert "<<<<<<< ours\n- One, we say.\n=======\n- One, they say.\n>>>>>>> theirs\n" in text
