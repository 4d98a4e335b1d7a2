from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, make_plan, make_store, page, texts, upsert
from tests.xpstore.test_evaluation import record_of
from xpstore import evaluation, evaluation_notes, landing
from xpstore.commit import commit
from xpstore.errors import RefusedError, UsageError
from xpstore.landing import GateVerdict, land
from xpstore.location import Location
from xpstore.verify import verify

if TYPE_CHECKING:
    from xpstore.candidate import LandingCandidate

ROOT = Path(__file__).parents[2]
BRANCH = "train/x"


def teach(loc: Location, branch: str, *names: str) -> None:
    for name in names:
        commit(loc, [make_plan(loc, upsert(name, page(name)), branch=branch)], branch)


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    """Return a store with a page on main, and two plans on the candidate."""
    found = make_store(tmp_path / "s")
    teach(found, "main", "old")
    teach(found, BRANCH, "a", "b")
    return found


def state(loc: Location) -> tuple[str, str, list[str]]:
    here = loc.repo.place
    files = sorted(str(p.relative_to(here)) for p in here.rglob("*") if ".git" not in p.parts)
    return git(here, "for-each-ref"), git(here, "status", "--porcelain"), files


def test_main_and_its_files_follow(loc: Location) -> None:
    here, old, new = loc.repo.place, loc.repo.resolve("main"), loc.repo.resolve(BRANCH)
    (here / "mine.txt").write_text("keep\n")
    checked = verify(loc, BRANCH)
    result = land(loc, BRANCH)
    assert (result.state, result.verdict) == ("landed", None)
    assert (result.candidate.old, result.candidate.new) == (old, new)
    assert len(result.candidate.plan_ids) == 2
    assert loc.repo.resolve("main") == new
    assert git(here, "status", "--short") == "?? mine.txt"
    assert (here / "experiences" / "a.md").read_text() == page("a")
    assert git(here, "reflog", "-1", "--format=%gs", "main") == "xp land train/x: Fast-forward"
    assert verify(loc, "main") == checked
    again = land(loc, BRANCH)
    assert (again.state, again.candidate.entries) == ("nothing", ())
    fsck(here)


def test_a_dry_run_moves_nothing_and_says_what_would_be_in_the_way(loc: Location) -> None:
    before = state(loc)
    result = land(loc, BRANCH, dry_run=True)
    assert (result.state, len(result.candidate.plan_ids)) == ("landed", 2)
    assert state(loc) == before
    (loc.repo.place / "experiences" / "a.md").write_text("mine")
    before = state(loc)
    with pytest.raises(RefusedError, match=r"experiences/a\.md"):
        land(loc, BRANCH, dry_run=True)
    assert state(loc) == before


@pytest.mark.parametrize("how", ["untracked", "changed", "staged", "deleted"])
def test_a_local_change_in_the_way_stops_it_before_anything_moves(loc: Location, how: str) -> None:
    here = loc.repo.place
    item = upsert("old", page("old", "More."), page("old"))
    commit(loc, [make_plan(loc, item, branch=BRANCH)], BRANCH)
    file = here / "experiences" / ("a.md" if how == "untracked" else "old.md")
    if how == "deleted":
        file.unlink()
        file.mkdir()
        (file / "x").write_text("in its place")
    else:
        file.write_text("mine\n")
    if how == "staged":
        git(here, "add", ".")
    before = state(loc)
    with pytest.raises(RefusedError, match="in the way"):
        land(loc, BRANCH)
    assert state(loc) == before


def test_other_local_changes_stay(loc: Location) -> None:
    here = loc.repo.place
    (here / "experiences" / "old.md").write_text("mine\n")
    (here / "staged.txt").write_text("staged\n")
    git(here, "add", "staged.txt")
    before = git(here, "status", "--porcelain")
    land(loc, BRANCH)
    assert git(here, "status", "--porcelain") == before
    assert sorted(texts(loc, "main")) == ["a", "b", "old"]


def test_no_fast_forward_moves_nothing(loc: Location) -> None:
    teach(loc, "main", "c")
    before = state(loc)
    with pytest.raises(RefusedError, match="no fast-forward"):
        land(loc, BRANCH)
    with pytest.raises(UsageError, match="no branch"):
        land(loc, "train/none")
    assert state(loc) == before


def test_main_in_another_working_tree_follows_there(loc: Location, tmp_path: Path) -> None:
    here, other = loc.repo.place, tmp_path / "other"
    git(here, "switch", "-q", BRANCH)
    git(here, "worktree", "add", "-q", str(other), "main")
    assert land(Location.find(here), BRANCH).state == "landed"
    assert (other / "experiences" / "b.md").is_file()
    assert git(other, "status", "--short") == ""
    assert git(here, "status", "--short", "--branch") == f"## {BRANCH}"
    teach(loc, BRANCH, "c")
    (other / "experiences" / "c.md").write_text("mine")
    with pytest.raises(RefusedError, match="in the way"):
        land(Location.find(here), BRANCH)
    assert "c" not in texts(loc, "main")


def test_a_bare_repository_without_a_committer(loc: Location, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(loc.repo.place), "bare.git")
    bare = Location.find(tmp_path / "bare.git")
    assert land(bare, BRANCH).state == "landed"
    assert git(tmp_path / "bare.git", "rev-parse", "main") == loc.repo.resolve(BRANCH)
    assert land(bare, BRANCH).state == "nothing"


def test_main_that_only_a_remote_has_becomes_a_branch(loc: Location, tmp_path: Path) -> None:
    git(loc.repo.place, "branch", "other", "main")
    git(tmp_path, "clone", "-q", "--branch", "other", str(loc.repo.place), "c")
    clone = Location.find(tmp_path / "c")
    assert land(clone, BRANCH).state == "landed"
    assert clone.repo.ref(clone.main_ref) == loc.repo.resolve(BRANCH)
    assert git(tmp_path / "c", "status", "--short", "--branch").startswith("## other")


def test_a_store_in_a_folder_of_code(tmp_path: Path) -> None:
    code = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "trunk", str(code))
    loc = make_store(code / "agent")
    (code / "app.py").write_text("print()\n")
    git(code, "add", ".")
    git(code, "commit", "-qm", "Code")
    teach(loc, BRANCH, "a")
    (code / "app.py").write_text("print(1)\n")
    assert land(loc, BRANCH).state == "landed"
    assert git(code, "status", "--porcelain") == " M app.py"
    assert (code / "agent" / "experiences" / "a.md").is_file()
    git(code, "commit", "-qam", "More code")
    teach(loc, "train/y", "b")
    assert land(loc, "train/y").state == "landed"


def test_notes_of_the_candidate_are_notes_of_main(loc: Location) -> None:
    record = record_of(loc, True, ref=BRANCH)
    evaluation.write(loc, record)
    land(loc, BRANCH)
    assert evaluation.of_commit(loc, loc.repo.resolve("main")) == [record]
    assert len(evaluation_notes.lines(loc, loc.repo.resolve("main"))) == 1


# -- the gate -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "expected"),
    [("accept", "landed"), ("reject", "rejected"), ("inconclusive", "inconclusive")],
)
def test_the_gate_decides_on_exactly_what_lands(loc: Location, decision, expected: str) -> None:
    before = state(loc)
    asked: list[LandingCandidate] = []

    def gate(what: LandingCandidate) -> GateVerdict:
        asked.append(what)
        assert state(loc) == before
        teach(loc, BRANCH, "late")  # no lock is held; what comes now is not measured and stays out
        return GateVerdict(decision, "8 of 10")

    result = land(loc, BRANCH, gate=gate)
    assert result == landing.LandingResult(expected, asked[0], GateVerdict(decision, "8 of 10"))
    landed = decision == "accept"
    assert loc.repo.resolve("main") == (asked[0].new if landed else asked[0].old)
    assert sorted(texts(loc, "main")) == (["a", "b", "old"] if landed else ["old"])


def test_a_gate_is_not_asked_where_nothing_can_land(loc: Location) -> None:
    def gate(_: LandingCandidate) -> GateVerdict:
        raise AssertionError("asked in vain")

    (loc.repo.place / "experiences" / "a.md").write_text("mine")
    with pytest.raises(RefusedError, match="in the way"):
        land(loc, BRANCH, gate=gate)
    teach(loc, "main", "c")
    with pytest.raises(RefusedError, match="no fast-forward"):
        land(loc, BRANCH, gate=gate)
    git(loc.repo.place, "branch", "train/same", "main")
    assert land(loc, "train/same", gate=gate).state == "nothing"


def test_main_that_moves_under_the_gate_stops_it(loc: Location) -> None:
    def moving(branch: str):
        def gate(_: LandingCandidate) -> GateVerdict:
            git(loc.repo.place, "merge", "-q", "--ff-only", branch)
            return GateVerdict("accept")

        return gate

    with pytest.raises(RefusedError, match="main moved while the gate measured train/x"):
        land(loc, BRANCH, gate=moving(f"{BRANCH}~1"))
    assert sorted(texts(loc, "main")) == ["a", "old"]
    assert land(loc, BRANCH, gate=moving(BRANCH)).state == "nothing"


def test_without_a_gate_a_candidate_lands_on_the_moved_main(
    loc: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = landing.publish.publish
    moves = []

    def publish(*args: object) -> bool:
        if not moves:
            moves.append(git(loc.repo.place, "merge", "-q", "--ff-only", f"{BRANCH}~1"))
        return real(*args)

    monkeypatch.setattr(landing.publish, "publish", publish)
    result = land(loc, BRANCH)
    assert result.state == "landed"
    assert [entry.subject for entry in result.candidate.entries] == ["Teach b"]


# -- processes ------------------------------------------------------------------------------------------


def start(loc: Location, branch: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.lander", str(loc.repo.place), branch]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def said(landers: list[subprocess.Popen[str]]) -> list[str]:
    done = [lander.communicate(timeout=60) for lander in landers]
    assert [err for _, err in done] == [""] * len(landers)
    return sorted(out.strip() for out, _ in done)


def test_two_landings_of_one_branch_at_once(loc: Location) -> None:
    assert said([start(loc, BRANCH) for _ in range(2)]) == ["landed", "nothing"]
    assert git(loc.repo.place, "status", "--short") == ""
    fsck(loc.repo.place)


def test_landings_of_two_branches_at_once(loc: Location) -> None:
    teach(loc, "train/y", "c")
    refused, landed = said([start(loc, BRANCH), start(loc, "train/y")])[::-1]
    assert "no fast-forward: main has" in refused
    assert landed == "landed"
    assert git(loc.repo.place, "status", "--short") == ""
    assert sorted(texts(loc, "main")) in (["a", "b", "old"], ["c", "old"])
