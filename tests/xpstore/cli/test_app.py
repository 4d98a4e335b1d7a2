from __future__ import annotations

import os

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


def hint(app: App, name: str, message: str) -> str:
    with pytest.raises(UsageError, match=message) as caught:
        app.file(name)
    return caught.value.hint


def test_a_missing_file_names_the_places_that_were_looked_at(tmp_path, monkeypatch):
    inside, outside = tmp_path / "store", tmp_path / "shell"
    inside.mkdir()
    outside.mkdir()
    monkeypatch.chdir(outside)
    app = App(cwd=inside)
    missing = r"there is no file '.*b\.json'"
    assert hint(app, "b.json", missing) == f"it was looked for in {inside} and in {outside}"
    assert hint(app, "x/b.json", missing) == f"it was looked for in {inside}/x and in {outside}/x"
    assert hint(app, f"{tmp_path}/b.json", missing) == f"it was looked for in {tmp_path}"
    assert hint(App(cwd=outside), "b.json", missing) == f"it was looked for in {outside}"


def test_what_is_no_file_is_named_as_what_it_is(tmp_path):
    app = App(cwd=tmp_path)
    assert hint(app, ".", r"'\.' is a directory") == f"name the files in {tmp_path}"
    os.mkfifo(tmp_path / "pipe")
    assert "file first" in hint(app, "pipe", "'pipe' is a pipe or a device, not a file")
    assert "file first" in hint(app, "-", "standard input is not read")


def test_commands_to_type_work_where_xp_was_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert App(cwd=tmp_path).typed() == "xp"
    desk = App(cwd=tmp_path / "my desk", store="b c")
    assert desk.typed() == "xp -C 'my desk' --store 'b c'"
    assert desk.typed("git") == "git -C 'my desk'"


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
