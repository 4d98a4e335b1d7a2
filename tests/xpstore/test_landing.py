from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import delete, fsck, git, make_plan, make_store, page, texts, upsert
from tests.xpstore.test_evaluation import record_of
from xpstore import evaluation, evaluation_notes, evidence, history, landing, lock
from xpstore.commit import commit
from xpstore.errors import ConflictError, RefusedError, RepositoryError, UsageError
from xpstore.landing import GateVerdict, land
from xpstore.location import Location
from xpstore.verify import verify

if TYPE_CHECKING:
    from xpstore.candidate import LandingCandidate

ROOT = Path(__file__).parents[2]
BRANCH = "train/x"


def teach(loc: Location, branch: str, *names: str) -> None:
    for name in names:
        commit(loc, [make_plan(loc, upsert(name, page(name)), branch=branch, rollouts=())], branch)


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


def test_a_branch_that_is_none_moves_nothing(loc: Location) -> None:
    before = state(loc)
    with pytest.raises(UsageError, match="no branch"):
        land(loc, "train/none")
    assert state(loc) == before


def test_where_main_has_moved_the_plans_are_made_again_on_top_of_it(loc: Location) -> None:
    here, old = loc.repo.place, loc.repo.resolve(BRANCH)
    teach(loc, "main", "c")
    before = state(loc)
    planned = land(loc, BRANCH, dry_run=True)
    assert (planned.state, planned.candidate.how) == ("landed", "re-parented")
    assert state(loc) == before
    result = land(loc, BRANCH)
    assert (result.state, result.candidate.how, result.candidate.merged) == ("landed", "re-parented", ())
    assert git(here, "log", "--first-parent", "--format=%s", "-4", "main").split("\n")[:3] == [
        "Teach b",
        "Teach a",
        "Teach c",
    ]
    assert sorted(texts(loc, "main")) == ["a", "b", "c", "old"]
    assert {finding.state for finding in verify(loc, "main")} <= {"intact", "carried"}
    assert git(here, "status", "--short") == ""
    # the candidate moves along; what it was is in its reflog
    assert loc.repo.resolve(BRANCH) == loc.repo.resolve("main")
    assert git(here, "rev-parse", f"{BRANCH}@{{1}}") == old
    assert git(here, "reflog", "-1", "--format=%gs", BRANCH) == "xp land: re-parented on main"
    assert land(loc, BRANCH).state == "nothing"
    assert history.candidates(loc) == []
    fsck(here)


def test_what_cannot_be_merged_moves_nothing_and_says_where(loc: Location) -> None:
    commit(loc, [make_plan(loc, delete("old", page("old")), branch=BRANCH)], BRANCH)
    commit(loc, [make_plan(loc, upsert("old", page("old", "Ask first."), page("old")))], "main")
    before = state(loc)
    for options in ({}, {"merge": True}, {"dry_run": True}):
        with pytest.raises(ConflictError, match=r"exclude each other: old \(deleted on one side\)") as caught:
            land(loc, BRANCH, **options)
        assert [conflict.name for conflict in caught.value.conflicts] == ["old"]
        assert f"git rebase main {BRANCH}" in caught.value.hint
        assert state(loc) == before


def test_a_merge_commit_leaves_the_branch_as_it_is(loc: Location) -> None:
    here, old = loc.repo.place, loc.repo.resolve(BRANCH)
    teach(loc, "main", "c")
    result = land(loc, BRANCH, merge=True)
    assert (result.state, result.candidate.how, len(result.candidate.plan_ids)) == ("landed", "merge", 2)
    assert git(here, "log", "-1", "--format=%s %P", "main").split() == [
        *("Merge", "branch", f"'{BRANCH}'"),
        result.candidate.old,
        old,
    ]
    assert loc.repo.resolve(BRANCH) == old
    assert sorted(texts(loc, "main")) == ["a", "b", "c", "old"]
    assert git(here, "status", "--short") == ""
    assert {finding.state for finding in verify(loc, "main")} == {"intact"}
    teach(loc, "train/y", "d")
    assert land(loc, "train/y", merge=True).candidate.entries[0].merged[0].subject == "Teach d"
    fsck(here)


def test_another_branch_to_land_on(loc: Location) -> None:
    git(loc.repo.place, "branch", "release", "main")
    teach(loc, "release", "c")
    main = loc.repo.resolve("main")
    assert land(loc, BRANCH, onto="release").candidate.main == "release"
    assert loc.repo.resolve("main") == main
    assert sorted(texts(loc, "release")) == ["a", "b", "c", "old"]
    # main itself is never moved but forwards
    teach(loc, "main", "m")
    main = loc.repo.resolve("main")
    assert land(loc, "main", onto="release").candidate.how == "re-parented"
    assert loc.repo.resolve("main") == main


def test_a_merge_or_rebase_that_is_not_finished_stops_it_first(loc: Location) -> None:
    here = loc.repo.place
    teach(loc, "main", "c")
    git(here, "merge", "-q", "--no-commit", "--no-ff", BRANCH)
    before = git(here, "for-each-ref")
    with pytest.raises(RefusedError, match="a git merge on main is not finished"):
        land(loc, BRANCH)
    git(here, "merge", "--abort")
    command = ["git", "rebase", "-q", "--exec", "false", "main", BRANCH]
    assert subprocess.run(command, cwd=here, capture_output=True, check=False).returncode
    with pytest.raises(RefusedError, match="a git rebase on train/x is not finished"):
        land(loc, BRANCH)
    assert git(here, "for-each-ref") == before
    git(here, "rebase", "--abort")
    git(here, "switch", "-q", "main")
    assert land(loc, BRANCH).state == "landed"


def test_a_candidate_that_is_checked_out_follows_unless_a_local_change_is_in_the_way(
    loc: Location, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    git(loc.repo.place, "worktree", "add", "-q", str(other), BRANCH)
    item = upsert("old", page("old", "Ask first."), page("old"))
    commit(loc, [make_plan(loc, item)], "main")
    (other / "experiences" / "old.md").write_text("mine\n")
    before = state(loc)
    with pytest.raises(RefusedError, match="in the way"):
        land(loc, BRANCH)
    assert state(loc) == before
    git(other, "checkout", "-q", "--", ".")
    assert land(loc, BRANCH).state == "landed"
    assert (other / "experiences" / "old.md").read_text() == page("old", "Ask first.")
    assert git(other, "status", "--short", "--branch") == f"## {BRANCH}"


def test_a_history_with_nothing_in_common_is_refused_with_what_would_be_lost(loc: Location) -> None:
    here = loc.repo.place
    git(here, "checkout", "-q", "--orphan", "train/new")
    git(here, "rm", "-q", "--cached", "experiences/old.md")
    git(here, "commit", "-qm", "Start again")
    git(here, "switch", "-qf", "main")
    for options in ({}, {"merge": True}):
        with pytest.raises(RefusedError, match="no history in common with main; it would lose 1 pages: old"):
            land(loc, "train/new", **options)


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


@pytest.mark.parametrize(
    "damage", ["no JSON {tree}", '{{"key": "{tree}"}}', "overflow", "blob", "tree", "deep"]
)
def test_bad_evaluations_and_notes_do_not_hide_that_main_has_landed(loc: Location, damage: str) -> None:
    teach(loc, "main", "c")
    here = loc.repo.place

    def gate(what: LandingCandidate) -> GateVerdict:
        record = record_of(loc, True, True, ref=what.new)
        path = evaluation.record_path(record)
        forged = record.model_dump(mode="json")
        if damage in {"overflow", "deep"}:
            for result in forged["results"]:
                result["score"] = 1e308 if damage == "overflow" else 10**4000
            evidence.write(loc, [evidence.json_file(path, forged)], "Vandalism")
        elif damage in {"blob", "tree"}:
            evaluation.write(loc, record)
            what_else = git(here, "rev-parse", "HEAD^{tree}" if damage == "tree" else "HEAD:xp.toml")
            git(here, "update-ref", "-d", loc.notes_ref)
            (here / ".git" / loc.notes_ref).write_text(f"{what_else}\n")
        else:
            data = damage.format(tree=record.key.experiences).encode()
            evidence.write(loc, [evidence.EvidenceFile(path, data)], "Vandalism")
        return GateVerdict("accept")

    assert land(loc, BRANCH, gate=gate).state == "landed"
    assert sorted(texts(loc, "main")) == ["a", "b", "c", "old"]


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
    git(loc.repo.place, "branch", "train/same", "main")
    assert land(loc, "train/same", gate=gate).state == "nothing"


@pytest.mark.parametrize("patience", [0, landing.PATIENCE])
def test_a_candidate_that_main_has_already_stays_where_it_is(
    loc: Location, monkeypatch: pytest.MonkeyPatch, patience: int
) -> None:
    monkeypatch.setattr(landing, "PATIENCE", patience)
    teach(loc, "main", "b", "a")
    before = state(loc)
    assert land(loc, BRANCH).state == "nothing"
    assert state(loc) == before


def test_where_main_moves_under_the_gate_it_measures_again(loc: Location) -> None:
    asked: list[LandingCandidate] = []

    def gate(what: LandingCandidate) -> GateVerdict:
        asked.append(what)
        if len(asked) < 3:
            teach(loc, "main", f"c{len(asked)}")
        return GateVerdict("accept")

    result = land(loc, BRANCH, gate=gate)
    assert [what.how for what in asked] == ["fast-forward", "re-parented", "re-parented"]
    assert loc.repo.resolve("main") == asked[-1].new
    assert result.candidate == asked[-1]
    assert sorted(texts(loc, "main")) == ["a", "b", "c1", "c2", "old"]


def test_a_main_that_never_rests_ends_it(loc: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing, "ROUNDS", 3)
    asked: list[LandingCandidate] = []

    def gate(what: LandingCandidate) -> GateVerdict:
        asked.append(what)
        teach(loc, "main", f"c{len(asked)}")
        return GateVerdict("accept")

    before = loc.repo.resolve(BRANCH)
    with pytest.raises(RepositoryError, match="main moved 3 times"):
        land(loc, BRANCH, gate=gate)
    assert loc.repo.resolve(BRANCH) == before


def test_files_are_looked_at_while_no_other_writer_moves_them(
    loc: Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []

    def other() -> None:
        with lock.store_lock(loc.repo.common_dir, wait=False) as is_free:
            held.append(not is_free)

    def check(*_: object) -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    monkeypatch.setattr(landing.worktree, "check", check)
    assert land(loc, BRANCH).state == "landed"
    assert held
    assert all(held)


def test_what_a_gate_rejects_moves_nothing(loc: Location) -> None:
    teach(loc, "main", "c")
    before = state(loc)

    def gate(what: LandingCandidate) -> GateVerdict:
        assert sorted(texts(loc, what.new)) == ["a", "b", "c", "old"]  # it is a commit as any other
        return GateVerdict("reject", "worse")

    assert land(loc, BRANCH, gate=gate).state == "rejected"
    assert state(loc) == before


def test_an_evaluation_by_the_gate_is_noted_on_what_landed(loc: Location) -> None:
    teach(loc, "main", "c")

    def gate(what: LandingCandidate) -> GateVerdict:
        evaluation.write(loc, record_of(loc, True, ref=what.new))
        return GateVerdict("accept")

    land(loc, BRANCH, gate=gate)
    assert len(evaluation_notes.lines(loc, loc.repo.resolve("main"))) == 1


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


def test_a_damaged_evaluation_does_not_hide_what_landed(loc: Location) -> None:
    teach(loc, "main", "c")

    def gate(what: LandingCandidate) -> GateVerdict:
        record = record_of(loc, True, ref=what.new)
        bad = evidence.EvidenceFile(evaluation.record_path(record), record.key.experiences.encode())
        evidence.write(loc, [bad], "Damage")
        return GateVerdict("accept")

    assert land(loc, BRANCH, gate=gate).state == "landed"
    assert "b" in texts(loc, "main")


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
    assert said([start(loc, BRANCH), start(loc, "train/y")]) == ["landed", "landed"]
    assert git(loc.repo.place, "status", "--short") == ""
    assert sorted(texts(loc, "main")) == ["a", "b", "c", "old"]
    assert {finding.state for finding in verify(loc, "main")} <= {"intact", "carried"}
    fsck(loc.repo.place)


@pytest.mark.slow
def test_landings_while_another_process_writes_to_main(loc: Location) -> None:
    teach(loc, "train/y", "c")
    command = [sys.executable, "-m", "tests.writer", str(loc.repo.place), "main", "w", "15"]
    writer = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    safe = [writer.stdout.readline()]  # it is at work
    assert said([start(loc, BRANCH), start(loc, "train/y")]) == ["landed", "landed"]
    out, err = writer.communicate(timeout=60)
    assert err == ""
    safe += out.splitlines()
    assert len(safe) == 15
    line = git(loc.repo.place, "log", "--first-parent", "--format=%H", "main").split()
    assert {commit_.strip() for commit_ in safe} <= {*line}
    assert sorted(texts(loc, "main")) == sorted(["a", "b", "c", "old", *(f"w-{n}" for n in range(15))])
    assert len(line) == len(set(git(loc.repo.place, "log", "--format=%s", "main").splitlines()))
    assert git(loc.repo.place, "status", "--short") == ""
    fsck(loc.repo.place)
