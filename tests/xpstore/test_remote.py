from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from xpstore import gitcli, remote
from xpstore.errors import RefusedError, RepositoryError, UsageError
from xpstore.git import Repo
from xpstore.gitcli import Ran
from xpstore.remote import Update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.location import Location

MAIN = "refs/heads/main"


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    """Return a store with a remote that is empty."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "shared.git")
    found = make_store(tmp_path / "s")
    git(tmp_path / "s", "remote", "add", "origin", str(tmp_path / "shared.git"))
    return found


def again(loc: Location) -> Repo:
    found = Repo.discover(loc.repo.place)
    assert found
    return found


def test_which_remote(loc: Location, tmp_path: Path) -> None:
    here = loc.repo.place
    assert remote.choose(again(loc), "main", "") == "origin"
    git(here, "remote", "rename", "origin", "hub")
    assert remote.choose(again(loc), "main", "") == "hub"
    git(here, "remote", "add", "backup", str(tmp_path / "shared.git"))
    with pytest.raises(UsageError, match="there are 2 remotes: backup, hub"):
        remote.choose(again(loc), "main", "")
    git(here, "config", "branch.main.remote", "hub")
    assert remote.choose(again(loc), "main", "") == "hub"
    assert remote.choose(again(loc), "main", "backup") == "backup"
    with pytest.raises(UsageError, match="no remote '--upload-pack=x'"):
        remote.choose(again(loc), "main", "--upload-pack=x")
    for name in ("hub", "backup"):
        git(here, "remote", "remove", name)
    with pytest.raises(RefusedError, match="has no remote"):
        remote.choose(again(loc), "main", "")


def test_a_push_moves_all_or_none_and_only_from_where_it_was_seen(loc: Location) -> None:
    tip = loc.repo.resolve("main")
    assert remote.listing(loc.repo, "origin") == {}
    both = [Update(MAIN, None, tip), Update("refs/notes/x", None, tip)]
    assert remote.push(loc.repo, "origin", both)
    assert remote.listing(loc.repo, "origin") == {MAIN: tip, "refs/notes/x": tip}
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "More")
    new = git(loc.repo.place, "rev-parse", "main")
    late = [Update(MAIN, tip, new), Update("refs/notes/x", None, new)]
    assert not remote.push(loc.repo, "origin", late)
    assert remote.listing(loc.repo, "origin") == {MAIN: tip, "refs/notes/x": tip}


def test_what_is_fetched_is_kept_apart(loc: Location) -> None:
    tip = loc.repo.resolve("main")
    remote.push(loc.repo, "origin", [Update(MAIN, None, tip), Update("refs/notes/x", None, tip)])
    refs = {ref: remote.tracking_ref("origin", ref) for ref in (MAIN, "refs/notes/x")}
    assert list(refs.values()) == ["refs/remotes/origin/main", "refs/xpstore/origin/notes/x"]
    before = loc.repo.ref("refs/notes/x")
    remote.fetch(loc.repo, "origin", refs)
    assert [loc.repo.ref(at) for at in refs.values()] == [tip, tip]
    assert loc.repo.ref("refs/notes/x") == before


def test_a_repository_that_does_not_take_it_or_is_out_of_reach(loc: Location, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "full")
    git(loc.repo.place, "remote", "add", "full", str(tmp_path / "full"))
    git(loc.repo.place, "push", "-q", "full", "main:other")
    with pytest.raises(RepositoryError, match="full did not take it") as caught:
        remote.push(again(loc), "full", [Update(MAIN, None, loc.repo.resolve("main"))])
    assert "bare" in caught.value.hint
    git(loc.repo.place, "remote", "add", "gone", str(tmp_path / "gone"))
    with pytest.raises(RepositoryError, match="ls-remote failed for gone"):
        remote.listing(again(loc), "gone")


def test_what_a_hook_over_there_says_is_passed_on_and_is_no_sign_of_a_race(
    loc: Location, tmp_path: Path
) -> None:
    git(tmp_path, "init", "-q", "--bare", "guarded.git")
    hook = tmp_path / "guarded.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        "#!/bin/sh\necho 'error: main: it already exists' >&2; echo 'hint: do this' >&2; exit 1\n"
    )
    hook.chmod(0o755)
    git(loc.repo.place, "remote", "add", "guarded", str(tmp_path / "guarded.git"))
    with pytest.raises(RepositoryError) as caught:
        remote.push(again(loc), "guarded", [Update(MAIN, None, loc.repo.resolve("main"))])
    assert caught.value.message == "guarded did not take it: main: it already exists; nothing was published"
    assert caught.value.hint == "do this"


@pytest.mark.parametrize(
    "why", ["error: remote unpack failed: index-pack abnormal exit", "read error: Connection reset by peer"]
)
def test_what_the_other_side_lost_is_sent_again(
    loc: Location, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    tip = loc.repo.resolve("main")
    real, sent = gitcli.attempt, []

    def attempt(place: Path, args: Sequence[str], **options: object) -> Ran:
        sent.append(args[0])
        if len(sent) < 3:
            said = f"!\t{tip}:{MAIN}\t[remote rejected] (unpacker error)\n" if "unpack" in why else ""
            return Ran(1, said.encode(), f"{why}\n")
        return real(place, args, **options)

    monkeypatch.setattr(gitcli, "attempt", attempt)
    assert remote.push(loc.repo, "origin", [Update(MAIN, None, tip)])
    assert sent == ["push"] * 3
    assert remote.listing(loc.repo, "origin") == {MAIN: tip}


def test_what_was_lost_on_the_way_here_is_fetched_again(
    loc: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    tip = loc.repo.resolve("main")
    remote.push(loc.repo, "origin", [Update(MAIN, None, tip)])
    real, fetched = gitcli.attempt, []

    def attempt(place: Path, args: Sequence[str], **options: object) -> Ran:
        fetched.append("fetch" in args)
        if len(fetched) < 2:  # what it was writing was pruned
            said = "fatal: unable to write file .git/objects/pack/pack-1.pack: No such file or directory"
            return Ran(128, b"", said)
        return real(place, args, **options)

    monkeypatch.setattr(gitcli, "attempt", attempt)
    remote.fetch(loc.repo, "origin", {MAIN: remote.tracking_ref("origin", MAIN)})
    assert fetched == [True, True]
    assert loc.repo.ref("refs/remotes/origin/main") == tip


def test_what_the_other_side_never_takes_is_an_error(loc: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    git(Path(git(loc.repo.place, "remote", "get-url", "origin")), "config", "receive.maxInputSize", "1")
    monkeypatch.setattr(remote, "_TRIES", 2)
    with pytest.raises(RepositoryError, match="unpacker error"):
        remote.push(loc.repo, "origin", [Update(MAIN, None, loc.repo.resolve("main"))])


def test_a_ref_that_moved_while_the_push_was_checked_is_another_one_s(loc: Location, tmp_path: Path) -> None:
    tip = loc.repo.resolve("main")
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Theirs")
    remote.push(
        loc.repo, "origin", [Update(MAIN, None, tip), Update("refs/heads/x", None, loc.repo.resolve("main"))]
    )
    hook = tmp_path / "shared.git" / "hooks" / "update"
    hook.write_text("#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/main refs/heads/x\n")
    hook.chmod(0o755)
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Mine")
    assert not remote.push(loc.repo, "origin", [Update(MAIN, tip, git(loc.repo.place, "rev-parse", "main"))])
