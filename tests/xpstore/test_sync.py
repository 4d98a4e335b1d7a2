from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import every_object, fsck, git, identify, make_plan, make_store, page, texts, upsert
from tests.http_git import serving
from tests.xpstore.test_evaluation import record_of
from xpstore import evaluation, evaluation_notes, evidence, history
from xpstore.commit import commit
from xpstore.errors import ConflictError, RefusedError, RepositoryError, UsageError
from xpstore.forget import forget
from xpstore.hashing import content_id
from xpstore.landing import land
from xpstore.location import Location
from xpstore.plan import RolloutRef
from xpstore.sync import sync
from xpstore.verify import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
BRANCH = "train/x"
EVIDENCE = "refs/heads/xp/evidence"


def teach(
    loc: Location, name: str, text: str = "Look.", branch: str = "main", before: str | None = None
) -> None:
    item = upsert(name, page(name, text), before)
    plan = make_plan(loc, item, branch=branch, rollouts=(), run_id=str(loc.repo.place))
    commit(loc, [plan], branch)


@pytest.fixture
def one(tmp_path: Path) -> Location:
    """Return a store that is published to a bare repository."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "shared.git")
    loc = make_store(tmp_path / "one")
    teach(loc, "old")
    git(loc.repo.place, "remote", "add", "origin", str(tmp_path / "shared.git"))
    sync(loc)
    return Location.find(tmp_path / "one")


@pytest.fixture
def two(one: Location, tmp_path: Path) -> Location:
    """Return a clone of it."""
    git(tmp_path, "clone", "-q", git(one.repo.place, "remote", "get-url", "origin"), "two")
    identify(tmp_path / "two")
    return Location.find(tmp_path / "two")


def shared(loc: Location) -> dict[str, str]:
    rows = git(Path(git(loc.repo.place, "remote", "get-url", "origin")), "show-ref").splitlines()
    return {ref: commit_ for commit_, ref in (row.split() for row in rows)}


def remember(loc: Location, text: str) -> str:
    """Put a rollout with a case of its own on record and return its id."""
    data = {"case": {"name": text}, "messages": [text]}
    rollout = content_id(data)
    files = [
        evidence.rollout_file(rollout, data),
        evidence.case_file(content_id(data["case"]), data["case"]),
        evidence.ledger_file(rollout, {"event": "received", "learner": "offline/1"}),
    ]
    evidence.write(loc, files, "Receive")
    return rollout


def sound(*locs: Location) -> None:
    for loc in locs:
        assert [f.problems for f in verify(loc, "main") if f.problems] == []
        assert git(loc.repo.place, "status", "--short") == ""
        fsck(loc.repo.place)


def test_main_and_evidence_are_published_and_the_rest_is_called_local(one: Location) -> None:
    assert {*shared(one)} == {"refs/heads/main", EVIDENCE}
    again = sync(one)
    assert (again.received, again.published, again.only_local) == ((), (), ())
    teach(one, "a", branch=BRANCH)
    result = sync(one)
    assert result.published == (EVIDENCE,)
    assert result.only_local == (f"refs/heads/{BRANCH}",)
    result = sync(one, branches=[BRANCH])
    assert (result.published, result.only_local) == ((f"refs/heads/{BRANCH}",), ())


def test_without_a_remote_nothing_is_published(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    with pytest.raises(RefusedError, match="all of it is only here"):
        sync(loc)
    with pytest.raises(UsageError, match="no remote 'x'"):
        sync(loc, "x")
    git(tmp_path / "s", "remote", "add", "origin", str(tmp_path / "gone.git"))
    with pytest.raises(RepositoryError, match="ls-remote failed for origin"):
        sync(Location.find(tmp_path / "s"))


def test_plans_of_two_clones_end_up_in_both(one: Location, two: Location) -> None:
    teach(one, "a")
    teach(two, "b")
    assert sync(one).published == ("refs/heads/main", EVIDENCE)
    result = sync(two)
    assert "refs/heads/main" in result.received
    assert result.published == ("refs/heads/main", EVIDENCE)
    assert sync(one).published == ()
    assert sorted(texts(one, "main")) == ["a", "b", "old"]
    assert one.repo.resolve("main") == two.repo.resolve("main")
    assert one.repo.ref(EVIDENCE) == two.repo.ref(EVIDENCE) == shared(one)[EVIDENCE]
    sound(one, two)


def test_pages_that_both_changed_are_merged_and_what_excludes_each_other_is_refused(
    one: Location, two: Location
) -> None:
    teach(one, "old", "IF late DO call `refund`.", before=page("old", "Look."))
    teach(two, "old", "IF late DO NOT call `refund`.", before=page("old", "Look."))
    sync(one)
    before, main = shared(one), two.repo.resolve("main")
    with pytest.raises(ConflictError, match=r"origin/main and main .* old") as caught:
        sync(two)
    assert "`git rebase origin/main main`" in caught.value.hint
    assert caught.value.as_json()["next"] == []
    assert (shared(one), two.repo.resolve("main")) == (before, main)


def test_what_a_gate_has_accepted_is_published_as_it_is_or_not_at_all(one: Location, two: Location) -> None:
    teach(two, "theirs")
    assert sync(two, is_exact=True).published
    teach(one, "ours")
    before = shared(one)
    with pytest.raises(RefusedError, match="main has moved in origin"):
        sync(one, is_exact=True)
    assert shared(one) == before
    assert "theirs" not in texts(one, "main")
    sync(one)
    assert set(texts(one, "main")) == {"old", "ours", "theirs"}


def test_evaluations_of_two_clones(one: Location, two: Location) -> None:
    tip = one.repo.resolve("main")
    evaluation.write(one, record_of(one, True))
    sync(one)
    evaluation.write(two, record_of(two, False, True))
    assert "refs/notes/xp-eval" in sync(two).received + sync(two).published
    sync(one)
    assert len(evaluation_notes.lines(one, tip)) == len(evaluation_notes.lines(two, tip)) == 2
    assert one.repo.ref("refs/notes/xp-eval") == two.repo.ref("refs/notes/xp-eval")
    assert len(evaluation.of_commit(one, tip)) == 2
    sound(one, two)


def test_a_candidate_that_was_brought_up_to_date_replaces_what_it_was(one: Location) -> None:
    teach(one, "a", branch=BRANCH)
    teach(one, "c")
    sync(one, branches=[BRANCH])
    land(one, BRANCH)
    assert sync(one, branches=[BRANCH]).only_local == ()
    assert shared(one)[f"refs/heads/{BRANCH}"] == one.repo.resolve("main")


def test_a_candidate_with_other_commits_there_is_refused(one: Location, two: Location) -> None:
    teach(one, "a", branch=BRANCH)
    sync(one, branches=[BRANCH])
    teach(two, "b", branch=BRANCH)
    before = shared(one)
    with pytest.raises(RefusedError, match=f"origin/{BRANCH} has what {BRANCH} has not"):
        sync(two, branches=[BRANCH])
    assert shared(one) == before
    with pytest.raises(UsageError, match="no candidate 'train/none'"):
        sync(two, branches=["train/none"])


def test_what_one_clone_forgot_is_in_no_object_of_any_clone_that_synced(one: Location, two: Location) -> None:
    rollout, kept = remember(one, "my number is 4711"), remember(one, "harmless")
    sync(one)
    sync(two)
    mine = remember(two, "of the other clone")
    assert b"4711" in every_object(two.repo.place)
    forget(one, rollout)
    sync(Location.find(one.repo.place))
    result = sync(two)
    assert result.forgotten == (rollout,)
    sync(Location.find(one.repo.place))
    for loc in (one, two):
        assert b"4711" not in every_object(loc.repo.place)
        at = Location.find(loc.repo.place)
        assert sorted(evidence.find_ids(at, "rollouts", "")) == sorted([kept, mine])
        sound(at)


def test_an_old_clone_that_published_meanwhile_does_not_bring_it_back(one: Location, two: Location) -> None:
    rollout = remember(one, "my number is 4711")
    sync(one)
    sync(two)
    forget(one, rollout)
    mine = remember(two, "of the other clone")
    sync(two)  # it does not know yet, and what it publishes still has it
    sync(Location.find(one.repo.place))
    assert b"4711" not in every_object(one.repo.place)
    assert sync(two).forgotten == (rollout,)
    sync(Location.find(one.repo.place))
    for loc in (one, two):
        assert b"4711" not in every_object(loc.repo.place)
        at = Location.find(loc.repo.place)
        assert evidence.find_ids(at, "rollouts", "") == [mine]
        sound(at)
    assert one.repo.ref(EVIDENCE) == two.repo.ref(EVIDENCE)


@pytest.mark.stress  # e2e/test_clones.py has it with less
def test_clones_that_write_and_sync_at_once(one: Location, tmp_path: Path) -> None:
    clones = [tmp_path / f"clone-{number}" for number in range(2)]
    for clone in clones:
        git(tmp_path, "clone", "-q", str(tmp_path / "shared.git"), str(clone))
        identify(clone)
    commands = [[sys.executable, "-m", "tests.syncer", str(clone), clone.name, "3"] for clone in clones]
    pipe = subprocess.PIPE
    running = [subprocess.Popen(c, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) for c in commands]
    done = [process.communicate(timeout=120) for process in running]
    assert [err for _, err in done] == ["", ""]
    plans = [plan for out, _ in done for plan in out.split()]
    sync(one)
    assert len(plans) == 6
    assert {*plans} <= history.reachable_plan_ids(one, ["main"])
    assert len(texts(one, "main")) == 7
    sound(one)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Serve the folder over git's own protocol and yield its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--listen=127.0.0.1", f"--port={port}", "--export-all", "--enable=receive-pack", "--verbose"]
    command = ["git", "daemon", *options, f"--base-path={tmp_path}", str(tmp_path)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as daemon:
        assert daemon.stderr is not None
        assert "Ready to rumble" in daemon.stderr.readline()
        yield f"git://127.0.0.1:{port}/shared.git"
        daemon.terminate()


def exchanged(one: Location, two: Location, url: str) -> None:
    """Both clones publish a plan by way of the address, and have both then."""
    for loc in (one, two):
        git(loc.repo.place, "remote", "set-url", "origin", url)
    teach(one, "a")
    teach(two, "b")
    sync(Location.find(one.repo.place))
    assert "refs/heads/main" in sync(Location.find(two.repo.place)).published
    assert sorted(texts(two, "main")) == ["a", "b", "old"]
    sound(two)


def test_over_gits_own_protocol(one: Location, two: Location, url: str) -> None:
    exchanged(one, two, url)


def test_over_http(one: Location, two: Location, tmp_path: Path) -> None:
    git(tmp_path / "shared.git", "config", "http.receivepack", "true")
    with serving(tmp_path) as url:
        exchanged(one, two, f"{url}/shared.git")
        git(one.repo.place, "remote", "set-url", "origin", f"{url}/gone.git")
        gone = Location.find(one.repo.place)
        with pytest.raises(RepositoryError, match="ls-remote failed for origin"):
            sync(gone)


def test_a_server_that_only_lets_read(one: Location, two: Location, tmp_path: Path) -> None:
    git(tmp_path / "shared.git", "config", "http.receivepack", "false")
    teach(one, "a")
    sync(one)
    with serving(tmp_path) as url:
        git(two.repo.place, "remote", "set-url", "origin", f"{url}/shared.git")
        assert "refs/heads/main" in sync(Location.find(two.repo.place)).received
        teach(two, "b")
        before, reader = shared(one), Location.find(two.repo.place)
        with pytest.raises(RepositoryError, match=r"did not take it: .*; nothing was published"):
            sync(reader)
    assert shared(one) == before


def test_plans_cite_rollouts_that_come_with_them(one: Location, two: Location) -> None:
    rollout = remember(one, "a case")
    plan = make_plan(one, upsert("a", page("a")), rollouts=(RolloutRef(id=rollout, passed=True),))
    commit(one, [plan], "main")
    sync(one)
    sync(two)
    sound(two)
