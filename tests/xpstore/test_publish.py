from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pygit2.transaction import ReferenceTransaction

from tests.builders import fsck, git, make_plan, make_store, page, texts, upsert
from xpstore import gitcli, lock, objects, publish, worktree
from xpstore.commit import commit
from xpstore.errors import RefusedError, RepositoryError
from xpstore.evidence import listing
from xpstore.git import Busy, Move
from xpstore.location import Location

ROOT = Path(__file__).parents[2]


def start(store: Path, branch: str, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.writer", str(store), branch, name, str(count)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(writers: list[subprocess.Popen[str]]) -> list[str]:
    done = [(w.communicate(timeout=120), w.returncode) for w in writers]
    assert [(err, code) for (_, err), code in done if code] == []
    return [line for (out, _), _ in done for line in out.split()]


def history(store: Path, branch: str) -> list[str]:
    return git(store, "rev-list", "--first-parent", branch).split()


@pytest.mark.stress  # e2e/test_writers.py has it with less
def test_no_plan_is_lost_between_processes_while_git_prunes(tmp_path: Path) -> None:
    make_store(tmp_path)
    enough = threading.Event()

    def prune() -> None:
        while not enough.is_set():
            subprocess.run(["git", "gc", "-q", "--prune=now"], cwd=tmp_path, check=False, capture_output=True)
            subprocess.run(["git", "pack-refs", "--all"], cwd=tmp_path, check=False, capture_output=True)

    pruner = threading.Thread(target=prune)
    pruner.start()
    try:
        commits = finish([start(tmp_path, "train/x", f"w{n}", 15) for n in range(4)])
    finally:
        enough.set()
        pruner.join()
    assert len(set(commits)) == 60
    assert set(commits) <= set(history(tmp_path, "train/x"))
    loc = Location.find(tmp_path)
    assert len(texts(loc, "train/x")) == 60
    assert len([p for p in listing(loc, "gradients") if p.endswith(".json")]) == 60
    assert not list(loc.repo.pack_dir.glob("*.keep"))
    fsck(tmp_path)


def test_first_commit_of_a_branch_by_three_processes_at_once(tmp_path: Path) -> None:
    make_store(tmp_path)
    commits = finish([start(tmp_path, "train/new", f"w{n}", 1) for n in range(3)])
    assert len(set(commits)) == 3
    assert set(commits) <= set(history(tmp_path, "train/new"))
    assert git(tmp_path, "merge-base", "main", "train/new") == git(tmp_path, "rev-parse", "main")
    fsck(tmp_path)


@pytest.mark.stress  # e2e/test_writers.py has it, too
def test_checked_out_branch_follows_many_writers(tmp_path: Path) -> None:
    make_store(tmp_path)
    (tmp_path / "mine.txt").write_text("keep\n")
    finish([start(tmp_path, "main", f"w{n}", 5) for n in range(3)])
    assert git(tmp_path, "status", "--short") == "?? mine.txt"
    assert len(list((tmp_path / "experiences").iterdir())) == 15


@pytest.mark.stress  # e2e/test_kills.py has it with less
def test_killed_writers_leave_a_sound_store(tmp_path: Path) -> None:
    make_store(tmp_path)
    randomly = random.Random(7)  # noqa: S311 - when to kill, no secret
    safe = []
    for number in range(10):
        writer = start(tmp_path, "main", f"k{number}", 1000)
        assert writer.stdout is not None
        safe.append(writer.stdout.readline().strip())  # it is writing now
        try:
            writer.wait(timeout=randomly.uniform(0, 0.08))
        except subprocess.TimeoutExpired:
            writer.kill()
        out, err = writer.communicate()
        assert err == ""
        safe += [line for line in out.splitlines() if len(line) == 40]
    finish([start(tmp_path, "main", "last", 1)])
    assert set(safe) <= set(history(tmp_path, "main"))
    assert git(tmp_path, "status", "--short") == ""
    fsck(tmp_path)


def blob_commit(loc: Location, text: bytes) -> tuple[list[objects.GitObject], str, str]:
    tip = loc.repo.ref(loc.main_ref) or ""
    blob = objects.make("blob", text)
    old = loc.repo.read_tree(loc.repo.commit(tip).tree)
    tree = objects.make_tree([*old, objects.Entry("new.txt", objects.FILE_MODE, blob.id)])
    who = loc.repo.person()
    made = objects.make_commit(tree.id, [tip], who, who, "new\n")
    return [blob, tree, made], tip, made.id


def test_lost_race_moves_nothing(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    group, tip, new = blob_commit(loc, b"x\n")
    moves = [Move("refs/heads/a", None, new, "a"), Move(loc.main_ref, "1" * 40, new, "b")]
    assert not publish.publish(loc.repo, group, moves)
    assert loc.repo.ref("refs/heads/a") is None
    assert loc.repo.ref(loc.main_ref) == tip
    assert publish.publish(loc.repo, group, [moves[0], Move(loc.main_ref, tip, new, "b")])
    assert (tmp_path / "new.txt").read_bytes() == b"x\n"


def test_ref_lock_of_a_killed_process_is_removed_once_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loc = make_store(tmp_path)
    held = loc.repo.common_dir / f"{loc.main_ref}.lock"
    held.touch()
    monkeypatch.setattr(publish, "ATTEMPTS", 2)
    plan = make_plan(loc, upsert("a", page("a")))
    with pytest.raises(RepositoryError, match=r"main\.lock"):
        commit(loc, [plan], "main")
    assert held.exists()
    assert texts(loc, "main") == {}
    monkeypatch.setattr(lock, "STALE", 0)
    commit(loc, [plan], "main")
    assert list(texts(loc, "main")) == ["a"]


def test_working_tree_of_a_killed_writer_steps_back(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    group, tip, new = blob_commit(loc, b"half done\n")
    publish.publish(loc.repo, group, [Move("refs/heads/kept", None, new, "keep the objects")])
    with lock.store_lock(loc.repo.common_dir):
        lock.write_intents(
            loc.repo.common_dir, (lock.Intent(loc.main_ref, tip, new, (str(loc.repo.workdir),)),)
        )
        worktree.follow([tmp_path], tip, new)
    assert git(tmp_path, "status", "--short") == "A  new.txt"
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    assert git(tmp_path, "status", "--short") == ""
    assert not (tmp_path / "new.txt").exists()


def test_working_tree_steps_back_when_the_ref_cannot_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loc = make_store(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    plan = make_plan(loc, upsert("a", page("a")))
    with monkeypatch.context() as patch:
        patch.setattr(ReferenceTransaction, "set_target", full)
        with pytest.raises(RepositoryError, match="No space left"):
            commit(loc, [plan], "main")
    assert git(tmp_path, "status", "--short") == ""
    assert texts(loc, "main") == {}
    assert commit(loc, [plan], "main")[0].state == "applied"


def test_index_lock_of_another_git_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loc = make_store(tmp_path)
    index_lock = tmp_path / ".git" / "index.lock"
    index_lock.touch()
    tries = []
    real = gitcli.attempt

    def attempt(*args: object, **kwargs: object) -> gitcli.Ran:
        tries.append(args)
        if len(tries) == 3:
            index_lock.unlink()
        return real(*args, **kwargs)

    monkeypatch.setattr(gitcli, "attempt", attempt)
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    assert git(tmp_path, "status", "--short") == ""


def test_nothing_moves_when_a_local_change_is_in_the_way(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    (tmp_path / "experiences").mkdir()
    (tmp_path / "experiences" / "a.md").write_text("mine")
    before = git(tmp_path, "for-each-ref")
    with pytest.raises(RefusedError, match=r"experiences/a\.md"):
        commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    assert git(tmp_path, "for-each-ref") == before
    assert (tmp_path / "experiences" / "a.md").read_text() == "mine"


def killed(loc: Location, move: Move, *, is_locked: bool) -> None:
    """Leave behind what a writer leaves that is killed when it has locked a ref, or is about to."""
    with lock.store_lock(loc.repo.common_dir):
        places = tuple(map(str, worktree.checked_out(loc.repo, move.ref)))
        lock.write_intents(loc.repo.common_dir, (lock.Intent(move.ref, move.old, move.new, places),))
        if is_locked:
            lock.mark_locked(loc.repo.common_dir)
    (loc.repo.common_dir / f"{move.ref}.lock").touch()


def test_the_locks_of_a_killed_writer_are_removed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loc = make_store(tmp_path)
    group, tip, new = blob_commit(loc, b"half done\n")
    publish.publish(loc.repo, group, [Move("refs/heads/kept", None, new, "keep the objects")])
    killed(loc, Move(loc.main_ref, tip, new, "x"), is_locked=True)
    (loc.repo.git_dir / "index.lock").touch()  # its git was killed too
    monkeypatch.setattr(publish, "ATTEMPTS", 1)
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    assert list(texts(loc, "main")) == ["a"]
    assert git(tmp_path, "status", "--short") == ""


@pytest.mark.parametrize("is_locked", [True, False])
def test_a_lock_that_may_be_of_git_is_left_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_locked: bool
) -> None:
    loc = make_store(tmp_path)
    tip = loc.repo.ref(loc.main_ref)
    # it had moved the ref already, or had not locked it yet
    killed(loc, Move(loc.main_ref, "1" * 40 if is_locked else tip, tip, "x"), is_locked=is_locked)
    monkeypatch.setattr(publish, "ATTEMPTS", 1)
    monkeypatch.setattr(lock, "STALE_OF_DEAD", 60)
    with pytest.raises(RepositoryError, match=r"main\.lock exists"):
        commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")


def test_a_lock_of_the_packed_refs_stops_a_removal_before_anything_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loc = make_store(tmp_path)
    tip = loc.repo.ref(loc.main_ref)
    git(tmp_path, "branch", "x")
    (loc.repo.common_dir / "packed-refs.lock").touch()
    moves = [Move("refs/heads/y", None, tip, "y"), Move("refs/heads/x", tip, None, "x")]
    with pytest.raises(Busy, match=r"packed-refs\.lock exists"):
        publish.publish(loc.repo, [], moves)
    assert loc.repo.ref("refs/heads/y") is None
    monkeypatch.setattr(lock, "STALE_PACKED", 0)
    assert publish.publish(loc.repo, [], moves)
    assert loc.repo.ref("refs/heads/x") is None
