from __future__ import annotations

import re
import shutil

import pytest

from hooks import store_rules
from tests.builders import git, page
from tests.gated import copied


@pytest.fixture
def desk(inner_template, tmp_path):
    """The store lies in agents/desk."""
    return copied(inner_template, tmp_path, "agents/desk")


def said(desk, old, *, allows_new=False):
    git(desk.root, "add", "-A")
    git(desk.root, "commit", "-q", "-m", "Code")
    return [r.text for r in store_rules.check(desk.loc.repo, old, desk.main, allows_new=allows_new)]


def begin(folder, store_id, name=""):
    """Make a store by hand, with a page; return what its xp.toml says."""
    text = f'format = 1\nid = "{store_id}"\nname = "{name}"\n'
    (folder / "experiences").mkdir(parents=True)
    (folder / "experiences" / "begin.md").write_text(page("begin", "Refund whoever shouts."))
    (folder / "xp.toml").write_text(text)
    return text


def edited(desk, change):
    file = desk.root / desk.loc.in_tree("xp.toml")
    file.write_text(change(file.read_text()))


def test_code_may_come_and_go(desk):
    old = desk.main
    (desk.root / "code.py").write_text("1")
    (desk.root / "fixtures").mkdir()
    (desk.root / "fixtures" / "xp.toml").write_text("[another program's]\n")
    assert said(desk, old) == []


def test_a_second_file_with_the_id_of_a_store_is_refused(desk):
    old = desk.main
    shutil.copy(desk.root / "agents/desk/xp.toml", desk.root / "xp.toml")
    found = said(desk, old, allows_new=True)
    assert found == [f"xp.toml has the id of store {desk.loc.config.id}, which is there already"]


def test_a_store_more_comes_only_where_the_owner_lets_it(desk):
    old = desk.main
    begin(desk.root, "abcdefabcdefabcdefab")
    assert said(desk, old) == ["xp.toml begins a store beside those that agents read here"]
    assert store_rules.check(desk.loc.repo, old, desk.main, allows_new=True) == []


def test_the_folder_of_a_store_becomes_nobody_elses(desk):
    old = desk.main
    shutil.copytree(desk.root / "agents/desk", desk.root / "archive")
    edited(desk, lambda text: text.replace(desk.loc.config.id, "deadbeefdeadbeefdead"))
    found = said(desk, old, allows_new=True)
    assert found == [f"agents/desk/xp.toml is of store {desk.loc.config.id}, the push makes it another one's"]


def test_two_stores_do_not_change_places(desk):
    begin(desk.root / "agents/other", "abcdefabcdefabcdefab", "other")
    said(desk, desk.main)
    old = desk.main
    for source, place in (("desk", "third"), ("other", "desk"), ("third", "other")):
        (desk.root / "agents" / source).rename(desk.root / "agents" / place)
    assert [re.sub("[0-9a-f]{12,}", "ID", text) for text in said(desk, old, allows_new=True)] == [
        "the push puts store ID where store ID was: agents/other/xp.toml",
        "the push puts store ID where store ID was: agents/desk/xp.toml",
    ]


def test_a_store_moves_as_it_is(desk):
    old = desk.main
    (desk.root / "agents/desk").rename(desk.root / "moved")
    assert said(desk, old) == []
    (desk.root / "moved/experiences/begin.md").write_text(page("begin", "Refund whoever shouts."))
    assert said(desk, old) == [f"the push moves store {desk.loc.config.id} and changes its experiences"]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda text: re.sub('main = ".*"', 'main = "other"', text), "changes `main` of agents/desk/xp.toml"),
        (lambda text: 'name = "x"\n' + text, "changes `name` of agents/desk/xp.toml"),
        (lambda text: "format = 99\n" + text.replace("format = 1\n", ""), "away: .* newer than this program"),
        (lambda text: "[\n" + text, "takes store .* away"),
    ],
)
def test_a_store_stays_the_one_that_it_is(desk, change, wanted):
    old = desk.main
    edited(desk, change)
    (found,) = said(desk, old)
    assert re.search(wanted, found), found


def test_no_file_comes_between_a_store_and_those_who_look_for_it(desk):
    old = desk.main
    (desk.root / "xp.toml").symlink_to("agents/desk/xp.toml")
    assert said(desk, old) == ["xp.toml is no store's, above the store in agents/desk"]
    assert store_rules.check(desk.loc.repo, desk.main, desk.main, allows_new=False) == []
