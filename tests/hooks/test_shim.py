from __future__ import annotations

import subprocess

import pytest

from hooks import shim
from tests.hooking import script, stand_in


@pytest.mark.parametrize("hook", shim.KNOWN)
def test_a_shim_says_which_hook_it_is_whatever_its_file_is_called(hook):
    text = shim.render(hook, "/opt/xp", f"{hook}.xpstore-1")
    assert shim.read(text.encode()) == shim.Shim(shim.VERSION, hook, f"{hook}.xpstore-1")
    assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\nexit 0\n", b"# xpstore-shim 1 pre-commit\n", b"\x7fELF"])
def test_what_others_wrote_is_no_shim(data):
    assert shim.read(data) is None


def test_a_shim_of_a_later_version_is_still_ours():
    assert shim.read(b"#!/bin/sh\n# xpstore-shim 7 update\nfuture\n") == shim.Shim(7, "update")


def run(file, *args, stdin=""):
    return subprocess.run([file, *args], input=stdin, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("hook", "code"), [("pre-commit", 0), ("pre-push", 0), ("pre-receive", 1), ("update", 1)]
)
def test_without_xp_a_client_goes_on_and_a_server_takes_nothing(tmp_path, monkeypatch, hook, code):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'empty'}")
    file = script(tmp_path / hook, shim.render(hook, "/nowhere/xp"))
    done = run(file)
    assert (done.returncode, "not on PATH" in done.stderr) == (code, True)


@pytest.mark.parametrize(
    ("hook", "passes"), [("pre-commit", True), ("pre-push", True), ("pre-receive", False)]
)
@pytest.mark.parametrize("kept", ["", "kept"])
def test_an_xp_whose_python_is_gone_is_as_good_as_none(tmp_path, monkeypatch, hook, passes, kept):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    program = script(tmp_path / "xp", "#!/nowhere/python\n")
    file = script(tmp_path / hook, shim.render(hook, str(program), kept))
    done = run(file, stdin="x")
    assert (done.returncode == 0) is passes
    assert ("warning: xp cannot be started" in done.stderr) is passes


def test_xp_is_taken_from_path_first_and_else_from_where_it_was(tmp_path, monkeypatch):
    said = stand_in(tmp_path, monkeypatch)
    other = script(tmp_path / "it's here" / "xp", '#!/bin/sh\necho other "$@"\n')
    file = script(tmp_path / "commit-msg", shim.render("commit-msg", str(other)))
    assert run(file, "a b").stdout == ""
    assert said.read_text() == "hook commit-msg a b\n"
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert run(file, "x").stdout == "other hook commit-msg x\n"


def test_the_code_of_xp_is_the_code_of_the_hook(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch)
    monkeypatch.setenv("XP_CODE", "3")
    for kept in ("", "pre-receive.xpstore-1"):
        file = script(tmp_path / "pre-receive", shim.render("pre-receive", "xp", kept))
        assert run(file, stdin="x\n").returncode == 3


def test_the_kept_hook_and_xp_hear_the_same_bytes(tmp_path, monkeypatch):
    said = stand_in(tmp_path, monkeypatch)
    heard = tmp_path / "heard"
    script(tmp_path / "pre-push.xpstore-1", f'#!/bin/sh\necho "$@" > {heard}; cat >> {heard}\n')
    file = script(tmp_path / "pre-push", shim.render("pre-push", "xp", "pre-push.xpstore-1"))
    assert run(file, "origin", "url", stdin="a b\n\n\\n %s\n\n").returncode == 0
    assert heard.read_text() == "origin url\na b\n\n\\n %s\n\n"
    assert said.read_text() == "hook pre-push origin url\na b\n\n\\n %s\n\n"


def test_what_the_kept_hook_refuses_is_refused_with_its_own_code(tmp_path, monkeypatch):
    said = stand_in(tmp_path, monkeypatch)
    script(tmp_path / "pre-commit.xpstore-1", "#!/bin/sh\nexit 7\n")
    file = script(tmp_path / "pre-commit", shim.render("pre-commit", "xp", "pre-commit.xpstore-1"))
    assert run(file).returncode == 7
    assert said.read_text() == ""


def test_after_a_merge_nothing_can_be_refused_any_more(tmp_path, monkeypatch):
    said = stand_in(tmp_path, monkeypatch)
    script(tmp_path / "post-merge.xpstore-1", "#!/bin/sh\nexit 7\n")
    file = script(tmp_path / "post-merge", shim.render("post-merge", "xp", "post-merge.xpstore-1"))
    assert run(file, "0").returncode == 0
    assert said.read_text() == "hook post-merge 0\n"


def test_a_kept_hook_that_git_ignored_is_still_ignored(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch)
    script(tmp_path / "pre-commit.xpstore-1", "#!/bin/sh\nexit 7\n", 0o644)
    file = script(tmp_path / "pre-commit", shim.render("pre-commit", "xp", "pre-commit.xpstore-1"))
    assert run(file).returncode == 0


@pytest.mark.parametrize("start", ["#!/bin/sh -e", "#!/usr/bin/env bash", "#! /bin/bash"])
def test_a_relocated_script_still_finds_itself_and_what_lies_beside_it(tmp_path, monkeypatch, start):
    stand_in(tmp_path, monkeypatch)
    script(tmp_path / "helper", 'echo "$(basename "$0") $(dirname "$0") $*"')
    before = f'{start}\n. "$(dirname -- "$0")/helper"\n'
    script(tmp_path / "pre-commit.xpstore-1", before)
    text = shim.render("pre-commit", "xp", "pre-commit.xpstore-1", before.encode())
    done = run(script(tmp_path / "pre-commit", text), "1", "2 3")
    assert done.stdout == f"pre-commit {tmp_path} 1 2 3\n"


def test_a_program_that_is_no_shell_script_is_simply_started(tmp_path, monkeypatch):
    stand_in(tmp_path, monkeypatch)
    before = "#!/usr/bin/env python3\nimport sys\nprint(sys.argv[1:], '$0')\n"
    script(tmp_path / "pre-commit.xpstore-1", before)
    text = shim.render("pre-commit", "xp", "pre-commit.xpstore-1", before.encode())
    assert run(script(tmp_path / "pre-commit", text), "a").stdout == "['a'] $0\n"
