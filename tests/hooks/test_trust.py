from __future__ import annotations

from pathlib import Path

import pytest

from hooks import trust
from tests.builders import git
from tests.hooking import opened, plain_repository


def test_nobody_is_trusted_who_is_not_named(tmp_path):
    assert trust.read(plain_repository(tmp_path / "repo")) == trust.Trust(None, frees_gate=False)


@pytest.mark.parametrize("value", ["signers", "/etc/xp/signers", "~/signers"])
def test_the_file_of_the_signers_lies_where_the_owner_says(tmp_path, value):
    repo = plain_repository(tmp_path / "server.git", "--bare")
    git(repo.git_dir, "config", "xp.allowedSigners", value)
    wanted = {"signers": repo.git_dir / "signers", "~/signers": Path.home() / "signers"}
    assert trust.read(opened(repo.git_dir)).signers == wanted.get(value, Path(value))


def test_signatures_are_asked_for_where_the_owner_says_so(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    git(repo.place, "config", "xp.requireSignatures", "true")
    assert trust.read(opened(repo.place)) == trust.Trust(None, frees_gate=False, wants_signed=True)


@pytest.mark.parametrize(
    ("value", "is_free"), [("true", True), ("Yes", True), ("1", True), ("false", False), ("", False)]
)
def test_thresholds_may_change_only_where_the_owner_says_so(tmp_path, value, is_free):
    repo = plain_repository(tmp_path / "repo")
    git(repo.place, "config", "xp.allowGateChange", value)
    assert trust.read(opened(repo.place)).frees_gate is is_free


def test_a_server_needs_a_gate_and_takes_no_store_more_unless_its_owner_says_so(tmp_path):
    repo = plain_repository(tmp_path / "repo")
    assert (trust.read(repo).needs_gate, trust.read(repo).allows_stores) == (True, False)
    git(repo.place, "config", "xp.requireGate", "false")
    git(repo.place, "config", "xp.allowNewStores", "true")
    owned = trust.read(opened(repo.place))
    assert (owned.needs_gate, owned.allows_stores) == (False, True)
