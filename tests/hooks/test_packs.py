from __future__ import annotations

import pytest

from hooks import packs
from tests.builders import git
from tests.hooking import attempt, picture, plain_repository


def test_a_push_is_one_pack_until_it_is_taken_out(tmp_path):
    repo = plain_repository(tmp_path / "s.git", "--bare")
    before = picture(repo.git_dir)
    packs.set_up(repo)
    packs.set_up(repo)
    assert git(repo.place, "config", "receive.unpackLimit") == "1"
    packs.take_out(repo)
    packs.take_out(repo)
    assert picture(repo.git_dir) == before


@pytest.mark.parametrize("is_before", [True, False])
def test_what_the_owner_says_stays(tmp_path, is_before):
    repo = plain_repository(tmp_path / "s.git", "--bare")
    if is_before:
        git(repo.place, "config", "receive.unpackLimit", "50")
    packs.set_up(repo)
    git(repo.place, "config", "receive.unpackLimit", "50")
    packs.take_out(repo)
    assert git(repo.place, "config", "receive.unpackLimit") == "50"
    assert attempt(repo.place, "config", "--get-regexp", "^xp[.]")[0] == 1
