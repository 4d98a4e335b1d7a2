from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from xpstore import evidence, layout, union, witness
from xpstore.errors import RefusedError
from xpstore.git import Move
from xpstore.hashing import content_id
from xpstore.publish import publish

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

A, B, C = "a" * 64, "b" * 64, "c" * 64


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def made(loc: Location, files: dict[str, str], start: str = "") -> str:
    """Return a commit with these evidence files on top of another one."""
    here = loc.repo.place
    git(here, "checkout", "-q", *([start] if start else ["--orphan", f"o{len(files)}{hash(tuple(files))}"]))
    if not start:
        git(here, "rm", "-rqf", "--ignore-unmatch", ".")
    for path, text in files.items():
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).write_text(text)
    git(here, "add", "--all", ".")
    git(here, "commit", "-qm", "Evidence")
    tip = git(here, "rev-parse", "HEAD")
    git(here, "switch", "-qf", "main")
    return tip


def files(loc: Location, made_: union.Union) -> dict[str, str]:
    publish(
        loc.repo, made_.objects, [Move("refs/heads/result", loc.repo.ref("refs/heads/result"), made_.tip, "")]
    )
    tree = loc.repo.commit(made_.tip).tree
    return {path: loc.repo.blob(blob).decode() for path, blob in loc.repo.files(tree)}


def test_one_history_that_has_the_other_needs_no_commit(loc: Location) -> None:
    old = made(loc, {layout.rollout_path(A): "{}"})
    new = made(loc, {layout.rollout_path(B): "{}"}, old)
    assert union.build(loc, new, old) == union.Union(new)
    assert union.build(loc, old, new) == union.Union(new)


def test_files_of_both(loc: Location) -> None:
    base = made(loc, {layout.rollout_path(A): "{}"})
    ours = made(loc, {layout.rollout_path(B): "{}"}, base)
    theirs = made(loc, {layout.rollout_path(C): "{}"}, base)
    both = union.build(loc, ours, theirs)
    assert set(files(loc, both)) == {layout.rollout_path(name) for name in (A, B, C)}
    assert loc.repo.commit(both.tip).parents == (theirs, ours)


def test_other_bytes_under_one_path(loc: Location) -> None:
    ours, theirs = (made(loc, {layout.rollout_path(A): text, "x" + text: ""}) for text in ("1", "2"))
    with pytest.raises(RefusedError, match=r"rollouts/.* other content"):
        union.build(loc, ours, theirs)
    path = layout.record_path(A, B)
    ours, theirs = (made(loc, {path: text, "y" + text: ""}) for text in ("1", "2"))
    both = union.build(loc, ours, theirs)
    found = files(loc, both)
    assert (found[path], found[witness.GENERATION]) == ("2", "1\n")
    assert loc.repo.commit(both.tip).parents == ()


def test_what_was_forgotten_here_is_not_taken_and_their_history_is_none_of_ours(loc: Location) -> None:
    case = {"name": "secret"}
    rollout = evidence.rollout_file(A, {"case": case})
    kept = evidence.rollout_file(B, {"case": {"name": "other"}})
    cases = [evidence.case_file(content_id(c), c) for c in (case, {"name": "other"})]
    theirs = made(loc, {f.path: f.data.decode() for f in (rollout, kept, *cases)})
    ours = made(loc, {layout.tombstone_path(A): "{}", witness.GENERATION: "1\n"})
    both = union.build(loc, ours, theirs)
    assert set(files(loc, both)) == {
        *(layout.tombstone_path(A), witness.GENERATION, kept.path),
        cases[1].path,
    }
    assert loc.repo.commit(both.tip).parents == (ours,)
    assert len(both.doomed) == 2
    assert union.forgotten_there(loc, theirs, ours) == [A]


def test_no_history_is_taken_that_has_what_was_forgotten(loc: Location) -> None:
    number = {witness.GENERATION: "1\n"}
    ours = made(loc, {layout.tombstone_path(A): "{}", layout.rollout_path(B): "{}", **number})
    old = made(loc, {layout.rollout_path(A): "secret"})
    tree = git(loc.repo.place, "rev-parse", f"{ours}^{{tree}}")
    theirs = git(loc.repo.place, "commit-tree", tree, "-p", ours, "-p", old, "-m", "Bring it back")
    both = union.build(loc, ours, theirs)
    assert both.doomed == {git(loc.repo.place, "rev-parse", f"{old}:{layout.rollout_path(A)}")}
    assert files(loc, both) == {
        layout.tombstone_path(A): "{}",
        layout.rollout_path(B): "{}",
        witness.GENERATION: "2\n",
    }
    assert loc.repo.commit(both.tip).parents == ()


def test_where_both_have_forgotten_another_one_it_begins_anew(loc: Location) -> None:
    number = {witness.GENERATION: "1\n"}
    theirs = made(loc, {layout.tombstone_path(B): "{}", layout.rollout_path(A): "{}", **number})
    ours = made(loc, {layout.tombstone_path(A): "{}", layout.rollout_path(C): "{}", **number})
    both = union.build(loc, ours, theirs)
    assert files(loc, both) == {
        layout.tombstone_path(A): "{}",
        layout.tombstone_path(B): "{}",
        layout.rollout_path(C): "{}",
        witness.GENERATION: "2\n",
    }
    assert loc.repo.commit(both.tip).parents == ()


def test_a_newer_generation_that_has_all_is_taken_as_it_is(loc: Location) -> None:
    ours = made(loc, {layout.rollout_path(A): "{}"})
    theirs = made(
        loc, {layout.rollout_path(A): "{}", layout.tombstone_path(B): "{}", witness.GENERATION: "1\n"}
    )
    assert union.build(loc, ours, theirs) == union.Union(theirs)
    more = made(loc, {layout.rollout_path(C): "{}"}, ours)
    both = union.build(loc, more, theirs)
    assert layout.rollout_path(C) in files(loc, both)
    assert loc.repo.commit(both.tip).parents == (theirs,)
