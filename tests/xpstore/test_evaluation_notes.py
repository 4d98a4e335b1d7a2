from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import fsck, git, make_store
from xpstore import evaluation_notes, publish
from xpstore.evidence import Addition
from xpstore.location import Location

ROOT = Path(__file__).parents[2]
WRITER = """
import sys
from pathlib import Path
from xpstore import evaluation_notes
from xpstore.location import Location
loc = Location.find(Path(sys.argv[1]))
commit = loc.repo.resolve("main")
for number in range(int(sys.argv[3])):
    evaluation_notes.add(loc, {commit: ['{"n": "%s-%d"}' % (sys.argv[2], number)]})
"""


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def test_lines_are_sorted_and_unique_and_git_shows_them(loc: Location) -> None:
    place, commit = loc.repo.place, loc.repo.resolve("main")
    assert evaluation_notes.lines(loc, commit) == ()
    assert evaluation_notes.add(loc, {commit: ["b", "a"]}) == [commit]
    assert evaluation_notes.add(loc, {commit: ["b"]}) == []
    assert evaluation_notes.add(loc, {commit: []}) == []
    assert evaluation_notes.add(loc, {commit: ["0", "b"]}) == [commit]
    assert evaluation_notes.lines(loc, commit) == ("0", "a", "b")
    assert git(place, "log", "-1", "--notes=xp-eval", "--format=%N") == "0\na\nb"
    assert git(place, "rev-list", "--count", loc.notes_ref) == "2"
    fsck(place)


@pytest.mark.parametrize("theirs", [["b", "c"], ["b"]])
def test_the_notes_of_another_clone(loc: Location, theirs: list[str]) -> None:
    place, commit = loc.repo.place, loc.repo.resolve("main")
    evaluation_notes.add(loc, {commit: theirs})
    other = git(place, "rev-parse", loc.notes_ref)
    assert evaluation_notes.union(loc, other) == Addition(other, other, ())
    git(place, "update-ref", "-d", loc.notes_ref)
    assert evaluation_notes.union(loc, other) == Addition(None, other, ())
    evaluation_notes.add(loc, {commit: ["a", "b"]})
    ours = git(place, "rev-parse", loc.notes_ref)
    both = evaluation_notes.union(loc, other)
    assert publish.publish(loc.repo, both.objects, both.moves(loc.notes_ref, "both"))
    assert evaluation_notes.lines(loc, commit) == tuple(sorted({"a", "b", *theirs}))
    assert git(place, "log", "-1", "--format=%P", loc.notes_ref).split() == [other, ours]
    fsck(place)


def mktree(place: Path, line: str) -> str:
    command = ["git", "mktree"]
    return subprocess.run(
        command, cwd=place, input=f"{line}\n", capture_output=True, text=True, check=True
    ).stdout.strip()


def test_what_git_wrote_is_found_at_any_depth_and_joined(loc: Location) -> None:
    place, commit = loc.repo.place, loc.repo.resolve("main")
    git(place, "notes", "--ref=xp-eval", "add", "-m", "by hand", commit)  # at the top level
    blob = git(place, "rev-parse", f"{loc.notes_ref}:{commit}")
    inner = mktree(place, f"100644 blob {blob}\t{commit[4:]}")
    outer = mktree(place, f"040000 tree {inner}\t{commit[2:4]}")
    deep = mktree(place, f"040000 tree {outer}\t{commit[:2]}")
    git(place, "update-ref", loc.notes_ref, git(place, "commit-tree", deep, "-m", "Deep"))
    assert evaluation_notes.add(loc, {commit: ["ours"]}) == [commit]
    assert evaluation_notes.lines(loc, commit) == ("by hand", "ours")
    assert git(place, "notes", "--ref=xp-eval", "show", commit) == "by hand\nours"
    git(place, "notes", "--ref=xp-eval", "append", "-m", "more", commit)
    assert "more" in evaluation_notes.lines(loc, commit)
    assert evaluation_notes.add(loc, {commit: ["last"]}) == [commit]
    assert git(place, "notes", "--ref=xp-eval", "show", commit) == "by hand\nlast\nmore\nours"


def test_processes_that_note_at_once_lose_nothing(loc: Location) -> None:
    place = loc.repo.place
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(place), name, "8"], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for name in ("a", "b", "c")
    ]
    assert [(w.communicate(timeout=60)[1], w.returncode) for w in writers] == [("", 0)] * 3
    assert len(evaluation_notes.lines(loc, loc.repo.resolve("main"))) == 24
    assert git(place, "rev-list", "--count", loc.notes_ref) == "24"
    fsck(place)


def test_git_merges_the_notes_of_two_clones_line_by_line(loc: Location, tmp_path: Path) -> None:
    place, commit = loc.repo.place, loc.repo.resolve("main")
    git(tmp_path, "clone", "-q", str(place), "c")
    other = Location.find(tmp_path / "c")
    git(tmp_path / "c", "config", "user.name", "Cleo")
    git(tmp_path / "c", "config", "user.email", "cleo@example.org")
    evaluation_notes.add(loc, {commit: ["both", "theirs"]})
    evaluation_notes.add(other, {commit: ["both", "ours"]})
    git(tmp_path / "c", "fetch", "-q", "origin", f"{loc.notes_ref}:refs/notes/theirs")
    git(tmp_path / "c", "notes", "--ref=xp-eval", "merge", "-q", "theirs")
    assert evaluation_notes.lines(other, commit) == ("both", "ours", "theirs")
    assert evaluation_notes.add(other, {commit: ["theirs"]}) == []


def test_a_strategy_that_somebody_chose_stays(loc: Location) -> None:
    git(loc.repo.place, "config", "notes.xp-eval.mergeStrategy", "union")
    evaluation_notes.add(loc, {loc.repo.resolve("main"): ["a"]})
    assert git(loc.repo.place, "config", "notes.xp-eval.mergeStrategy") == "union"


def test_a_configuration_that_is_locked_does_not_matter(loc: Location) -> None:
    (loc.repo.git_dir / "config.lock").touch()
    assert evaluation_notes.add(loc, {loc.repo.resolve("main"): ["a"]})
