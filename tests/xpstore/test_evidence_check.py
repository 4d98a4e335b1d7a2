from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import git, make_store
from tests.lessons import received, rollout_of, teach
from xpstore import evidence, evidence_check, layout, witness
from xpstore.evidence_check import Evidence
from xpstore.hashing import canonical_json, content_id
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path


def test_every_kind_of_file_is_checked_against_its_name(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    lesson = teach(loc, "a", None, ("One.",))
    shelf = Evidence.open(loc)
    assert {shelf.problem(path) for path in shelf.files} == {""}
    half = {"half": "\udcff"}
    wrong = {
        layout.rollout_path("aa11"): b"{}\n",
        layout.case_path("aa11"): b"[]\n",
        layout.rollout_path(content_id(half)): canonical_json(half),
        layout.rollout_path(content_id([half])): b'{"half":"\\udcff"}',
        layout.trajectory_path("aa11"): b"\xff",
        f"{layout.ledger_folder('aa11')}/bb22.json": b'{"event":"received"}\n',
        f"{layout.plan_folder('aa11')}/01-a.patch": b"no patch\n",
    }
    evidence.write(loc, [evidence.EvidenceFile(p, d) for p, d in wrong.items()], "Vandalism")
    shelf = Evidence.open(loc)
    named = {path for path in shelf.files if shelf.problem(path)}
    assert "half of a character" in shelf.problem(layout.rollout_path(content_id(half)))
    assert named == set(wrong)
    assert shelf.problem("rollouts/aa/none.json") == "rollouts/aa/none.json is missing in the evidence branch"
    assert len(evidence_check.branch_problems(loc, shelf)) == len(wrong)
    assert not shelf.is_forgotten(lesson.rollout)


def test_clones_are_joined_by_a_merge_that_only_adds(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    place = loc.repo.place
    for said in ("one", "two"):
        evidence.write(loc, received(rollout_of(said))[2], said)
        if said == "one":
            git(place, "branch", "theirs", "xp/evidence")
    git(place, "worktree", "add", "-q", str(tmp_path / "w"), "theirs")
    path = tmp_path / "w" / layout.case_path(content_id({}))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    git(tmp_path / "w", "add", ".")
    git(tmp_path / "w", "commit", "-qm", "Theirs")
    git(tmp_path / "w", "merge", "-q", "-m", "Join", "xp/evidence")
    git(place, "update-ref", loc.evidence_ref, git(place, "rev-parse", "theirs"))
    assert evidence_check.branch_problems(loc, Evidence.open(loc)) == []


def test_tombstones_without_a_generation_are_a_rewrite_by_hand(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    evidence.write(loc, [evidence.EvidenceFile(layout.tombstone_path("aa11"), b"x")], "Fake")
    assert evidence_check.branch_problems(loc, Evidence.open(loc)) == [
        "the evidence branch was rewritten: it has tombstones, but no generation"
    ]


def test_a_forget_elsewhere_may_only_take_what_it_names(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    teach(loc, "a", None, ("One.",), said="said")
    place = loc.repo.place
    git(tmp_path, "clone", "-q", str(place), "c")
    git(tmp_path / "c", "branch", "-q", "xp/evidence", "origin/xp/evidence")
    clone = Location.find(tmp_path / "c")
    assert evidence_check.branch_problems(clone, Evidence.open(clone)) == []
    git(place, "update-ref", "-d", loc.evidence_ref)
    files = [evidence.EvidenceFile(witness.GENERATION, b"1\n")]
    evidence.write(loc, files, "Forget everything")
    git(tmp_path / "c", "fetch", "-q", "-f", str(place), "xp/evidence:xp/evidence")
    found = evidence_check.branch_problems(clone, Evidence.open(clone))
    assert {text.split()[-1].split("/")[0] for text in found} == {
        "gradients",
        "ledger",
        "rollouts",
        "trajectories",
    }


def test_a_clone_reads_the_branch_of_its_remote(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    teach(loc, "a", None, ("One.",))
    git(tmp_path, "clone", "-q", str(loc.repo.place), "c")
    clone = Location.find(tmp_path / "c")
    shelf = Evidence.open(clone)
    assert shelf.files == Evidence.open(loc).files != {}
    assert evidence_check.branch_problems(clone, shelf) == []
    git(tmp_path / "c", "update-ref", "-d", "refs/remotes/origin/xp/evidence")
    (problem,) = evidence_check.branch_problems(clone, Evidence.open(clone))
    assert problem.startswith("the evidence branch is gone")
