"""A store among other people's things: hooks of another repository, many starts at once, code around it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.builders import fsck, git, identify, make_plan, make_store, page, texts, upsert
from xpstore.commit import commit
from xpstore.init import init
from xpstore.location import Location

XP = Path(sys.executable).with_name("xp")


def test_xp_in_a_hook_of_another_repository_acts_on_its_own_store(tmp_path):
    """git tells its hooks about the repository that commits; a store elsewhere is none of that."""
    store = make_store(tmp_path / "store")
    commit(store, [make_plan(store, upsert("a", page("a")), rollouts=())], "main")
    git(tmp_path, "init", "-q", "-b", "main", "app")
    app = tmp_path / "app"
    identify(app)
    (app / "code.py").write_text("1\n")
    git(app, "add", ".")
    git(app, "commit", "-qm", "Code")
    git(app, "worktree", "add", "-q", str(tmp_path / "linked"), "-b", "topic")
    (app / ".git" / "hooks").mkdir(exist_ok=True)
    hook = app / ".git" / "hooks" / "pre-commit"
    said = tmp_path / "said"
    command = f'"{XP}" -C "{store.repo.place}" deprecate a'
    hook.write_text(f"#!/bin/sh\nenv | grep ^GIT_ > {said}.env\nexec {command} > {said} 2>&1\n")
    hook.chmod(0o755)
    linked = tmp_path / "linked"
    (linked / "code.py").write_text("2\n")
    git(linked, "commit", "-qam", "More code")
    assert "GIT_INDEX_FILE" in Path(f"{said}.env").read_text()
    assert "status: deprecated" in texts(store, "main")["a"], said.read_text()
    assert git(store.repo.place, "status", "--short") == ""
    assert git(linked, "show", "--name-only", "--format=%s", "topic") == "More code\n\ncode.py"
    assert git(linked, "status", "--short") == ""
    assert git(app, "for-each-ref", "--format=%(refname)") == "refs/heads/main\nrefs/heads/topic"
    for place in (app, store.repo.place):
        fsck(place)


def submitting(store: Path, name: str) -> int:
    """Start a process that puts a plan on a branch of its own; return its id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        loc = Location.find(store)
        plan = make_plan(loc, upsert(name, page(name)), branch=f"train/{name}", rollouts=())
        commit(loc, [plan], f"train/{name}")
        code = 0
    finally:
        os._exit(code)


def test_starts_at_once_need_no_lock_of_the_configuration(tmp_path):
    """Whoever holds `.git/config.lock`, for however long, keeps no agent from submitting its plans."""
    loc = make_store(tmp_path / "s")
    lock = tmp_path / "s" / ".git" / "config.lock"
    lock.touch()
    names = [f"n{number}" for number in range(10)]
    children = [submitting(tmp_path / "s", name) for name in names]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0] * len(names)
    lock.unlink()
    assert {ref.rpartition("/")[2] for ref in loc.repo.refs("refs/heads/train/")} == set(names)
    assert all(texts(loc, f"train/{name}") == {name: page(name)} for name in names)


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_plan_leaves_every_other_file_of_the_repository_as_it_is(tmp_path, is_linked):
    git(tmp_path, "init", "-q", "-b", "main", "code")
    place = tmp_path / "code"
    identify(place)
    for name in ("moved.py", "dirty.py", "gone.py", "staged.py"):
        (place / name).write_text(f"{name}\n")
    git(place, "add", ".")
    git(place, "commit", "-qm", "Code")
    loc = init(place / "memory")
    tree = git(place, "ls-tree", "-r", "main")
    if is_linked:
        git(place, "switch", "-q", "--detach")
        git(place, "worktree", "add", "-q", "../linked", "main")
        place = tmp_path / "linked"
        loc = Location.find(place / "memory")
    git(place, "mv", "moved.py", "elsewhere.py")
    (place / "dirty.py").write_text("mine\n")
    (place / "gone.py").unlink()
    (place / "staged.py").write_text("mine\n")
    git(place, "add", "staged.py")
    before = git(place, "status", "--short")
    commit(loc, [make_plan(loc, upsert("a", page("a")), rollouts=())], "main")
    assert git(place, "status", "--short") == before
    rows = [r for r in git(place, "ls-tree", "-r", "main").splitlines() if "experiences/" not in r]
    assert "\n".join(rows) == tree
    assert (place / "memory" / "experiences" / "a.md").read_text() == page("a")
