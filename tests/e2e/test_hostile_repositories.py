"""A store copied from somewhere brings programs in its configuration: no verb runs any of them; git does."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from tests.e2e.bad import PAGE, READING, Xp, rollouts, trained
from xpstore.cli.verbs import installed
from xpstore.commit import commit
from xpstore.evidence import find_ids
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = (
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.alternateRefsCommand",
    "credential.helper",
    "diff.external",
    "gpg.program",
    "gpg.ssh.program",
    "uploadpack.packObjectsHook",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "diff.evil.textconv",
    "diff.evil.command",
    "merge.evil.driver",
    "alias.log",
    "alias.read-tree",
    "alias.diff",
    "remote.evil.uploadpack",
)
SETTINGS = (
    ("commit.gpgSign", "true"),
    ("push.gpgSign", "true"),
    ("log.showSignature", "true"),
    ("filter.evil.required", "true"),
    ("extensions.partialClone", "evil"),
    ("remote.evil.promisor", "true"),
    ("protocol.ext.allow", "always"),
)
HOOKS = (
    "pre-commit",
    "pre-push",
    "post-checkout",
    "reference-transaction",
    "post-index-change",
    "pre-auto-gc",
)
REFUSED = (
    ("eval",),
    ("gate", "train/x"),
    ("bisect", "start", "--case", "c0"),
    ("sync", "shared"),
    ("sync", "evil"),
    ("hook", "pre-commit"),
)
"""What ends in an error in such a store, or does nothing; it runs no program either."""
GITS = (
    ("status",),
    ("diff", "main~1", "main", "--", "experiences"),
    ("commit", "-q", "--no-gpg-sign", "--allow-empty", "-m", "x"),
)
NOT_TRIED = {"init", "demo", "bench", "completion", "watch", "mcp", "serve", "env", "ci", "hooks"}
"""Verbs that make another repository, print text, never end, or put scripts of their own into this one."""


@pytest.fixture
def xp(capsys) -> Xp:
    return Xp(capsys)


@pytest.fixture
def ran(tmp_path) -> Path:
    """The file that every program and hook of the store leaves a line in."""
    return tmp_path / "ran"


@pytest.fixture
def store(tmp_path, ran) -> Path:
    where = trained(tmp_path / "s")
    trap = tmp_path / "trap"
    trap.write_text(f'#!/bin/sh\necho "$0 $*" >> {ran}\ncat\n')
    trap.chmod(0o755)
    git(where, "branch", "train/x", "main~1")
    git(tmp_path, "init", "-q", "--bare", "shared.git")
    git(where, "remote", "add", "shared", str(tmp_path / "shared.git"))
    git(where, "config", "remote.evil.url", f"ext::{trap}")
    hooks = tmp_path / "hooks"
    for folder in (hooks, where / ".git" / "hooks"):
        folder.mkdir()
        for hook in HOOKS:
            shutil.copy(trap, folder / hook)
    (where / ".git" / "info").mkdir(exist_ok=True)
    (where / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n")
    for key, value in (*((key, str(trap)) for key in PROGRAMS), *SETTINGS, ("core.hooksPath", str(hooks))):
        git(where, "config", key, f"!{trap}" if key.startswith("alias.") else value)
    for file in (where / "experiences").iterdir():
        os.utime(file, (1, 1))  # git has to compare contents
    ran.unlink(missing_ok=True)
    return where


def test_no_verb_runs_a_program_that_a_copied_repository_names(store, xp, ran, tmp_path):
    file = str(rollouts(tmp_path / "r.jsonl", 0, 40))
    fine = [
        *READING,
        *(("log", "--experience", PAGE), ("log", "-S", "order"), ("blame", PAGE), ("repair",)),
        *(
            ("import", file, "-n"),
            ("train", file),
            ("train", file, "--branch", "main"),
            ("land", "train/x"),
            ("resolve", "train/x"),
        ),
        *(
            ("deprecate", PAGE),
            ("revert", "HEAD"),
            ("archive", PAGE),
            ("promote", PAGE),
            ("maintain",),
            ("inbox", "list"),
            ("stats",),
            ("export", "--format", "skills", "-o", "skills"),
            ("inbox", "retry"),
        ),
    ]
    for verb in fine:
        answer = xp(store, *verb)
        assert (answer.code, ran.exists()) == (0, False), (verb, answer)
    for verb in REFUSED:
        xp(store, *verb)
        assert not ran.exists(), verb
    for key in ("core.alternateRefsCommand", "credential.helper", "remote.evil.promisor"):
        git(store, "config", "--unset", key)
    ran.unlink(missing_ok=True)  # `git config` ran nothing; whatever
    rollout = find_ids(Location.find(store), "rollouts", "")[0]
    exchanged = [("sync", "shared"), ("publish", "--remote", "shared"), ("forget", "-y", rollout)]
    for verb in exchanged:
        answer = xp(store, *verb)
        assert (answer.code, ran.exists()) == (0, False), (verb, answer)
    tried = {verb[0] for verb in (*fine, *REFUSED, *exchanged)} | {"merge-driver"}
    assert {*installed()} - tried == NOT_TRIED
    for words in GITS:  # and git would have: the traps work
        ran.unlink(missing_ok=True)
        subprocess.run(["git", *words], cwd=store, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert ran.exists(), words


OPTION = "--output={}/ran"
NAMED = (
    *(("log",), ("log", "--experience"), ("log", "--run"), ("log", "--evidence"), ("log", "-S")),
    *(("show",), ("diff",), ("diff", "main"), ("blame",), ("blame", "a"), ("search",), ("context",)),
    *(("verify",), ("revert",), ("promote",), ("archive",), ("forget", "-y"), ("land",), ("land", "--onto")),
    *(
        ("resolve",),
        ("eval",),
        ("train",),
        ("import", "-n"),
        ("sync",),
        ("publish",),
        ("publish", "--remote"),
        ("init", "--name"),
    ),
)


@pytest.mark.parametrize("option", [OPTION, "--upload-pack=touch {}/ran"])
def test_a_name_that_looks_like_an_option_is_none(tmp_path, xp, ran, option):
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", page("a")), rollouts=())], "main")
    before = git(tmp_path / "s", "for-each-ref")
    word = option.format(tmp_path)
    for verb in NAMED:
        words = (*verb, word) if verb[-1].startswith("-") and verb[-1] != "-y" else (*verb, "--", word)
        xp(tmp_path / "s", *words)  # an answer or an error: never a traceback, never an option
        assert not ran.exists(), verb
    assert git(tmp_path / "s", "for-each-ref") == before
