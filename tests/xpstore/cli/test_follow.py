from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from xpstore.cli import follow
from xpstore.watch import NewSnapshot

XP = Path(sys.executable).with_name("xp")
LONG = 60
"""Seconds; only a fault takes as long."""


@pytest.fixture
def start(store) -> str:
    """The commit before a page was changed."""
    before = store.git("rev-parse", "HEAD")
    store.write("refund-item", "Ask first.\n")
    store.write("new-page", "Do this.\n")
    store.commit()
    return before


def test_a_line_for_each_new_snapshot(store, start):
    commit = store.git("rev-parse", "HEAD")
    code, out, err = store.xp("watch", "--since", start, "--once")
    assert (code, out, err) == (0, f"{commit[:9]} 2 pages: new-page, refund-item\n", "")


def test_json_has_one_object_per_line(store, start):
    code, out, _ = store.xp("watch", "--since", start, "--once", "--json")
    commit, tree = store.git("rev-parse", "HEAD", "HEAD:experiences").split()
    row = {"commit": commit, "tree": tree, "changed": ["new-page", "refund-item"], "previous": start}
    assert (code, json.loads(out)) == (0, row)
    assert out.count("\n") == 1


def test_a_command_is_run_with_the_snapshot_in_its_environment(store, start, tmp_path):
    script = 'import os, sys; open(sys.argv[1], "w").write(repr({k: os.environ[k] for k in sys.argv[2:]}))'
    names = ["XP_COMMIT", "XP_TREE", "XP_CHANGED", "XP_PREVIOUS"]
    out = tmp_path / "it's; here"
    line = shlex.join([sys.executable, "-c", script, str(out), *names])
    assert store.xp("watch", "--since", start, "--once", "--exec", line) == (0, "", "")
    commit, tree = store.git("rev-parse", "HEAD", "HEAD:experiences").split()
    assert out.read_text() == repr(
        dict(zip(names, [commit, tree, "new-page\nrefund-item", start], strict=True))
    )


def test_a_failing_command_is_reported_and_is_the_exit_code_of_once(store, start):
    line = f"{shlex.quote(sys.executable)} -c 'raise SystemExit(7)'"
    code, out, err = store.xp("watch", "--since", start, "--once", "--json", "--exec", line)
    assert (code, json.loads(out)["exit_code"]) == (7, 7)
    assert f"ended with 7 for {store.git('rev-parse', 'HEAD')[:9]}" in err


def test_watching_goes_on_after_a_command_failed_and_ctrl_c_ends_it_with_130(store, start):
    command = [XP, "-C", store.path, "watch", "--since", start, "--json", "--exec", "false"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        assert json.loads(process.stdout.readline())["exit_code"] == 1
        store.write("third", "Do that.\n")
        commit = store.commit()
        assert json.loads(process.stdout.readline())["commit"] == commit
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONG)
    assert (process.returncode, out) == (130, "")
    assert [line.split(" for ")[0] for line in err.splitlines()] == ["error: false ended with 1"] * 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no-such-program x", "there is no program 'no-such-program'"),
        ("echo 'x", "No closing quotation"),
        ("  ", "names no command"),
        ("", "names no command"),
    ],
)
def test_what_cannot_be_run_is_refused_before_watching(store, line, message):
    code, out, err = store.xp("watch", "--exec", line)
    assert (code, out) == (2, "")
    assert message in err


def test_names_that_are_too_many_for_an_environment_are_left_out():
    many = tuple(f"page-{number:06}" for number in range(10_000))
    snapshot = NewSnapshot("c", "t", many, "p")
    assert "XP_CHANGED" not in follow._environment(snapshot, {"XP_CHANGED": "of the caller"})
    assert follow._environment(replace(snapshot, changed=many[:2]), {})["XP_CHANGED"] == "\n".join(many[:2])


def test_a_branch_that_is_not_there(store):
    assert store.xp("watch", "--branch", "nowhere")[0] == 1
