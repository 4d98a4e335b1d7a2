from __future__ import annotations

import pytest

from hooks import pre_commit
from hooks.staged import Index
from tests.builders import git, make_store, page
from tests.hooking import write_page

SECRET = "ghp_" + "a1B2" * 9


@pytest.fixture
def loc(tmp_path):
    return make_store(tmp_path / "store")


def said(loc):
    index = Index(loc.repo, None)
    return [(r.text, r.blocks) for r in pre_commit.check(index, index.changes())]


def test_a_good_page_and_other_files_pass(loc):
    write_page(loc.repo.place, "refunds", "Ask for the receipt.")
    (loc.repo.place / "code.py").write_text(f"key = '{SECRET}'")
    git(loc.repo.place, "add", ".")
    assert said(loc) == []


def test_a_secret_is_named_by_kind_and_line_and_not_repeated(loc):
    write_page(loc.repo.place, "a", f"Use {SECRET} for it.")
    assert said(loc) == [("experiences/a.md, line 8: github-token: a secret", True)]
    assert SECRET not in str(said(loc))


def test_a_key_of_the_documentation_is_none(loc):
    write_page(loc.repo.place, "a", "Never write AKIAIOSFODNN7EXAMPLE into a ticket.")
    assert said(loc) == []


def test_what_may_be_personal_is_only_told_for_a_page_may_need_it(loc):
    write_page(loc.repo.place, "a", "Write to jane.doe@corp.example.com about it.")
    assert said(loc) == [("experiences/a.md, line 8: email, which may be a person's", False)]


def test_only_what_a_commit_brings_in_is_looked_for(loc):
    write_page(loc.repo.place, "a", f"Use {SECRET} for it.")
    git(loc.repo.place, "commit", "-q", "-m", "Before there were hooks")
    write_page(loc.repo.place, "a", f"Use {SECRET} for it.", "Then wait.")
    assert said(loc) == []


def test_names_links_and_limits_are_looked_at(loc):
    (loc.repo.place / "xp.toml").write_text(
        (loc.repo.place / "xp.toml").read_text().replace("file_lines = 1000", "file_lines = 9")
    )
    write_page(loc.repo.place, "a", "See [b](b.md).")
    write_page(loc.repo.place, "A")
    write_page(loc.repo.place, "long", "1", "2", "3")
    (loc.repo.place / "experiences" / "link.md").symlink_to("a.md")
    git(loc.repo.place, "add", ".")
    assert said(loc) == [
        ("experiences: experience 'A' would be the twin of 'a'", True),
        ("experiences: experience 'a' would be the twin of 'A'", True),
        ("experiences/a.md: there is no b.md", False),
        ("experiences/link.md: it is a symbolic link or a submodule, and neither is followed", True),
        ("experiences/long.md: lines: 10, the limit is 9", True),
    ]


def test_an_xp_toml_that_cannot_be_read_stops_only_the_commit_that_changes_it(loc):
    (loc.repo.place / "xp.toml").write_text("format = 1\n")
    write_page(loc.repo.place, "a")
    git(loc.repo.place, "add", ".")
    ((text, blocks),) = said(loc)
    assert ("xp.toml" in text, blocks) == (True, True)
    git(loc.repo.place, "commit", "-q", "-m", "Break it")
    write_page(loc.repo.place, "b")
    ((text, blocks),) = said(loc)
    assert ("xp.toml" in text, blocks) == (True, False)


def test_the_folder_itself_must_stay_a_folder(loc):
    (loc.repo.place / "experiences").symlink_to("/etc")
    git(loc.repo.place, "add", ".")
    assert said(loc) == [("experiences is no folder any more", True)]


def test_a_store_inside_a_repository_has_its_own_limits(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main", "repo")
    loc = make_store(tmp_path / "repo" / "agents" / "desk")
    write_page(loc.repo.place, "b c", folder="agents/desk/experiences")
    write_page(loc.repo.place, "d e", folder="experiences")  # nobody's
    assert [text for text, _ in said(loc)] == [
        "agents/desk/experiences/b c.md: invalid experience name 'b c': ' ' is not allowed"
    ]


def test_a_page_that_goes_is_not_looked_at(loc):
    (loc.repo.place / "experiences").mkdir()
    (loc.repo.place / "experiences" / "b c.md").write_text(page("b"))
    git(loc.repo.place, "add", ".")
    git(loc.repo.place, "commit", "-q", "-m", "Before there were hooks")
    git(loc.repo.place, "rm", "-q", "experiences/b c.md")
    assert said(loc) == []
