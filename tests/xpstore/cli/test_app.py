from __future__ import annotations

import pytest

from xpstore.cli.app import App
from xpstore.errors import NotAStoreError, UsageError


def test_files_are_looked_for_where_xp_works_then_where_it_was_called(tmp_path, monkeypatch):
    inside, outside = tmp_path / "store", tmp_path / "shell"
    inside.mkdir()
    outside.mkdir()
    monkeypatch.chdir(outside)
    app = App(cwd=inside)
    (outside / "a.json").write_text("")
    assert app.file("a.json") == outside / "a.json"
    (inside / "a.json").write_text("")
    assert app.file("a.json") == inside / "a.json"
    with pytest.raises(UsageError, match=r"no file 'b\.json'"):
        app.file("b.json")
    with pytest.raises(UsageError):
        app.file(".")


@pytest.mark.parametrize(
    ("variables", "pager"),
    [
        ({}, "less"),
        ({"PAGER": "more"}, "more"),
        ({"PAGER": "more", "GIT_PAGER": "most -x"}, "most -x"),
        ({"GIT_PAGER": ""}, ""),
    ],
)
def test_the_pager_is_gits(monkeypatch, tmp_path, variables, pager):
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/less")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert App(cwd=tmp_path).pager() == pager
    assert App(cwd=tmp_path, paging=False).pager() == ""


def test_no_pager_where_none_is_installed(monkeypatch, tmp_path):
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert App(cwd=tmp_path).pager() == ""


def test_no_store_is_an_error_that_says_how_to_make_one(tmp_path):
    with pytest.raises(NotAStoreError) as caught:
        App(cwd=tmp_path).location()
    assert "xp init" in caught.value.hint
