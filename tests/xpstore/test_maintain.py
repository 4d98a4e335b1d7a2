from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import fsck, git, make_plan, make_store, page, texts, upsert
from xpstore import derived, fold, maintain, pack
from xpstore.commit import commit
from xpstore.git import OPEN_PACKS
from xpstore.location import Location
from xpstore.objects import make


def litter(folder: Path, count: int) -> None:
    for number in range(count):
        with pack.kept(folder, [make("blob", b"%d" % number)]):
            pass


def test_packs_are_folded_and_nothing_is_lost(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    assert not maintain.when_needed(loc)
    litter(loc.repo.pack_dir, maintain.MANY)
    assert maintain.when_needed(loc)
    assert len(list(loc.repo.pack_dir.glob("*.pack"))) < 5
    assert texts(loc, "main") == {"a": page("a")}
    # what no ref reaches is still there: somebody may be about to need it
    assert git(tmp_path, "cat-file", "blob", make("blob", b"0").id) == "0"
    commit(loc, [make_plan(loc, upsert("b", page("b")))], "main")
    fsck(tmp_path)


def test_a_pack_that_is_being_published_is_not_touched(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    with pack.kept(loc.repo.pack_dir, [make("blob", b"mine")]):
        litter(loc.repo.pack_dir, maintain.MANY)
        (mine,) = loc.repo.pack_dir.glob("*.keep")
        maintain.maintain(loc)
        assert mine.with_suffix(".pack").exists()


def test_the_user_s_settings_decide_what_happens_by_itself(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    litter(loc.repo.pack_dir, maintain.MANY + 1)
    for key, off, on in (("gc.auto", "0", "100"), ("maintenance.auto", "false", "true")):
        git(tmp_path, "config", key, off)
        assert not maintain.when_needed(loc)
        git(tmp_path, "config", key, on)
    done = maintain.maintain(loc)
    assert done is not None
    assert done.packs_before > maintain.MANY > done.packs_after


def test_a_partial_clone_keeps_its_packs(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    git(loc.repo.place, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=tree:0", f"file://{loc.repo.place}", "partial")
    done = maintain.maintain(Location.find(tmp_path / "partial"))
    assert done is not None
    assert done.packs_after == done.packs_before


def test_one_process_at_a_time(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    with maintain.alone(loc.repo) as first:
        assert first
        assert maintain.maintain(loc) is None


def test_history_of_a_file_has_a_graph(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    maintain.maintain(loc)
    assert list((loc.repo.common_dir / "objects/info/commit-graphs").glob("*.graph"))
    git(tmp_path, "commit-graph", "verify")
    fsck(tmp_path)
    assert texts(loc, "main") == {"a": page("a")}


@pytest.mark.parametrize("work", [pytest.param("maintain", marks=pytest.mark.stress), "when_needed"])
def test_writers_go_on_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str) -> None:
    loc = make_store(tmp_path)
    monkeypatch.setattr(maintain, "MANY", 1)
    monkeypatch.setattr(maintain, "LARGE", 3)
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.writer", str(tmp_path), "train/x", name, "40"],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.DEVNULL,
        )
        for name in ("w", "v")
    ]
    rounds = 0
    while any(writer.poll() is None for writer in writers):
        rounds += bool(getattr(maintain, work)(loc))
    assert [writer.wait() for writer in writers] == [0, 0]
    assert rounds
    assert len(texts(loc, "train/x")) == 80
    wait_for_the_background(loc)
    fsck(tmp_path)


def wait_for_the_background(loc: Location) -> None:
    with (loc.repo.common_dir / maintain.FILE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)


def test_git_does_the_rest_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loc = make_store(tmp_path)
    monkeypatch.setattr(maintain, "LARGE", 1)
    text = page("a", *(f"Line {n} of a long page." for n in range(300)))
    for number in range(10):
        tip = texts(loc, "main").get("a")
        commit(loc, [make_plan(loc, upsert("a", f"{text}- {number}\n", tip))], "main")
    before = fold.packs(loc.repo.pack_dir)
    monkeypatch.setattr(fold, "SMALL", 0)  # as if they were too large to be copied
    monkeypatch.setattr(maintain, "MANY", -1)
    assert maintain.when_needed(loc)
    wait_for_the_background(loc)
    after = fold.packs(loc.repo.pack_dir)
    assert len(after) < len(before) / 2
    assert sum(p.size for p in after) < sum(p.size for p in before) * 2 / 3
    assert f"{text}- 9\n" == texts(loc, "main")["a"]
    assert list((loc.repo.common_dir / "objects/info/commit-graphs").glob("*.graph"))
    assert loc.main_ref in (loc.repo.common_dir / "packed-refs").read_text()
    git(tmp_path, "commit-graph", "verify")
    fsck(tmp_path)


def test_an_index_over_several_packs_is_git_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loc = make_store(tmp_path)
    for name in "abc":
        commit(loc, [make_plan(loc, upsert(name, page(name)))], "main")
    git(tmp_path, "multi-pack-index", "write")
    monkeypatch.setattr(maintain, "MANY", 1)
    before = fold.packs(loc.repo.pack_dir)
    assert maintain.when_needed(loc)
    assert fold.packs(loc.repo.pack_dir) == before
    maintain.maintain(loc)
    assert len(fold.packs(loc.repo.pack_dir)) == 1
    fsck(tmp_path)


def test_it_looks_once_in_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loc = make_store(tmp_path)
    looks: list[int] = []
    monkeypatch.setattr(maintain, "when_needed", lambda _: looks.append(loc.repo.written))
    for number in range(2 * maintain.EVERY):
        commit(loc, [make_plan(loc, upsert(f"n{number}", page(f"n{number}")))], "train/x")
    assert looks == [maintain.EVERY + 1, 2 * maintain.EVERY + 1]


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files the way Linux shows them")
def test_a_writer_that_runs_for_long_keeps_few_files_open(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    opened = []
    for number in range(3 * OPEN_PACKS):
        commit(loc, [make_plan(loc, upsert(f"n{number}", page(f"n{number}")))], "train/x")
        opened.append(len(list(Path("/proc/self/fd").iterdir())))
    assert max(opened) - opened[0] < 2 * OPEN_PACKS
    assert len(texts(loc, "train/x")) == 3 * OPEN_PACKS


def test_what_is_derived_is_dropped(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    derived.write(loc.repo, "x", {}, [b"1"])
    assert maintain.maintain(loc)
    assert derived.read(loc.repo, "x", {}) is None
