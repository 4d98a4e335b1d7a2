from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, make_store
from xpstore import evidence, layout, lock, publish
from xpstore.errors import FormatError, RefusedError, UsageError
from xpstore.evidence import EvidenceFile
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path

ID = "ab" + "0" * 18


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path)


def received(run: str) -> EvidenceFile:
    return evidence.ledger_file(ID, {"event": "received", "run": run})


def test_written_once_in_one_commit(loc: Location) -> None:
    files = [
        evidence.rollout_file(ID, {"b": "ü", "a": 1}),
        evidence.case_file("cd1", {}),
        received("1"),
        received("2"),
    ]
    commit = evidence.write(loc, files, "A run")
    assert evidence.listing(loc, "") == sorted(f.path for f in files)
    assert evidence.read(loc, f"rollouts/ab/{ID}.json") == '{"a":1,"b":"ü"}\n'.encode()
    assert [e["run"] for e in evidence.ledger(loc, ID)] in (["1", "2"], ["2", "1"])
    assert evidence.write(loc, files, "Again") is None
    assert git(loc.repo.place, "log", "--format=%H %s", "xp/evidence") == f"{commit} A run"
    more = evidence.write(loc, [received("3")], "More")
    assert git(loc.repo.place, "rev-list", "--parents", "-1", "xp/evidence") == f"{more} {commit}"
    fsck(loc.repo.place)


def test_other_bytes_are_refused_and_nothing_is_written(loc: Location) -> None:
    evidence.write(loc, [evidence.rollout_file(ID, {"a": 1})], "m")
    before = evidence.tip(loc)
    for files in (
        [evidence.rollout_file(ID, {"a": 2})],
        [EvidenceFile("x/y", b"1"), EvidenceFile("x/y", b"2")],
    ):
        with pytest.raises(RefusedError, match="other content"):
            evidence.write(loc, [received("1"), *files], "m")
    assert evidence.tip(loc) == before


def test_first_record_of_a_plan_stays(loc: Location) -> None:
    path = layout.record_path(ID, "d1")
    evidence.write(loc, [evidence.json_file(path, {"run": 1})], "m")
    assert evidence.write(loc, [evidence.json_file(path, {"run": 2})], "m") is None
    assert evidence.records(loc, ID) == {"d1": {"run": 1}}


def test_forgotten_things_never_come_back(loc: Location) -> None:
    evidence.write(loc, [EvidenceFile(layout.tombstone_path(ID), b"{}\n")], "forget")
    for file in (evidence.rollout_file(ID, {}), received("1"), evidence.trajectory_file(ID, "x")):
        with pytest.raises(RefusedError, match="forgotten"):
            evidence.write(loc, [file], "m")


def test_unknown_event_and_broken_files_are_named(loc: Location) -> None:
    with pytest.raises(UsageError, match="lost"):
        evidence.ledger_file(ID, {"event": "lost"})
    evidence.write(
        loc, [EvidenceFile(f"ledger/ab/{ID}/x.json", b"{"), EvidenceFile("ledger/cd/cd/y.json", b"[]")], "m"
    )
    for item in (ID, "cd"):
        with pytest.raises(FormatError, match="ledger"):
            evidence.ledger(loc, item)


def test_a_clone_reads_what_its_remote_has_and_writes_on_top(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "s")
    for name in ("one", "two"):  # the first has xp/evidence, the second a branch with its name
        loc = make_store(tmp_path / "s" / name)
        evidence.write(loc, [received("1")], "One")
        git(tmp_path, "clone", "-q", "s", f"clone-{name}")
        clone = Location.find(tmp_path / f"clone-{name}" / name)
        there = evidence.tip(loc)
        assert evidence.tip(clone) == there is not None
        assert [e["run"] for e in evidence.ledger(clone, ID)] == ["1"]
        assert evidence.write(clone, [received("1")], "Again") is None
        assert clone.repo.ref(loc.evidence_ref) is None
        commit = evidence.write(clone, [received("2")], "Two")
        assert commit == clone.repo.ref(loc.evidence_ref) == evidence.tip(clone)
        assert clone.repo.commit(commit or "").parents == (there,)
        git(clone.repo.place, "push", "-q", "origin", loc.evidence_ref)
        assert evidence.tip(loc) == commit


def test_a_branch_that_appears_meanwhile_is_not_lost(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    evidence.write(loc, [received("1")], "One")
    git(tmp_path, "clone", "-q", "s", "c")
    clone, other = Location.find(tmp_path / "c"), Location.find(tmp_path / "c")
    late = evidence.add(clone, [received("2")], "Two")
    first = evidence.write(other, [received("3")], "Three")
    assert not publish.publish(clone.repo, late.objects, late.moves(clone.evidence_ref, "late"))
    assert clone.repo.ref(clone.evidence_ref) == first
    second = evidence.write(clone, [received("2")], "Two")
    assert clone.repo.commit(second or "").parents == (first,)


@pytest.mark.parametrize(("limit", "is_held"), [(evidence.SHORT, True), (0, False)])
def test_nobody_waits_while_much_is_built(
    loc: Location, monkeypatch: pytest.MonkeyPatch, limit: int, *, is_held: bool
) -> None:
    seen: list[bool] = []
    build = evidence.add

    def add(*args: object, **options: object) -> evidence.Addition:
        done = threading.Thread(target=look)
        done.start()
        done.join()
        return build(*args, **options)

    def look() -> None:
        with lock.store_lock(loc.repo.common_dir, wait=False) as is_free:
            seen.append(not is_free)

    monkeypatch.setattr(evidence, "SHORT", limit)
    monkeypatch.setattr(evidence, "add", add)
    evidence.write(loc, [evidence.case_file("ab", {"n": 1})], "Receive")
    assert seen == [is_held]
