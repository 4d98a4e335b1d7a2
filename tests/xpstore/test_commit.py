from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.builders import ROLLOUT, delete, fsck, git, make_plan, make_store, page, texts, upsert
from xpstore import commit as writing
from xpstore import evidence, record
from xpstore.commit import Landed, commit
from xpstore.errors import (
    ConflictError,
    InvalidNameError,
    LimitError,
    NotFoundError,
    RefusedError,
    UsageError,
    XpError,
)
from xpstore.init import init
from xpstore.location import Location
from xpstore.verify import verify
from xpstore.wanted import Wanted, prepare

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.plan import PolicyUpdatePlan

A, B, C = page("a"), page("a", "Second."), page("a", "Third.")


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def state(loc: Location) -> str:
    return git(loc.repo.place, "for-each-ref")


def test_a_plan_is_one_plain_commit(loc: Location) -> None:
    plan = make_plan(loc, upsert("a", A), upsert("退款", page("退款")), subject="Teach two")
    (landed,) = commit(loc, [plan], "train/x")
    here = loc.repo.place
    assert landed == Landed(plan.plan_id, git(here, "rev-parse", "train/x"), "applied")
    assert git(here, "show", "-s", "--format=%an <%ae>|%cn <%ce>|%s|%P", "train/x") == (
        f"offline/1 <offline-1@xpstore.invalid>|Pat <pat@example.org>|Teach two|{plan.base_commit}"
    )
    changed = git(here, "-c", "core.quotePath=off", "show", "--format=", "--name-status", "train/x")
    assert changed == "A\texperiences/a.md\nA\texperiences/退款.md"
    assert [e["event"] for e in evidence.ledger(loc, ROLLOUT)] == ["planned"]
    assert git(here, "status", "--short") == ""
    fsck(here)


def test_plain_git_revert_undoes_it(loc: Location) -> None:
    (landed,) = commit(loc, [make_plan(loc, upsert("a", A))], "main")
    git(loc.repo.place, "revert", "--no-edit", landed.commit)
    assert texts(loc, "main") == {}


def test_learner_person_is_the_committer(loc: Location) -> None:
    (landed,) = commit(loc, [make_plan(loc, upsert("a", A), learner="person")], "main")
    assert git(loc.repo.place, "show", "-s", "--format=%an", landed.commit) == "Pat"


def test_neutral_identity_where_git_has_none(tmp_path: Path) -> None:
    loc = init(tmp_path)
    (landed,) = commit(loc, [make_plan(loc, upsert("a", A))], "main")
    assert (
        git(tmp_path, "show", "-s", "--format=%cn <%ce>", landed.commit)
        == "xpstore <xpstore@xpstore.invalid>"
    )


def test_a_group_stacks_its_plans_on_each_other(loc: Location) -> None:
    plans = [
        make_plan(loc, upsert("a", A)),
        make_plan(loc, upsert("a", B, A)),
        make_plan(loc, delete("a", B)),
    ]
    landed = commit(loc, [*plans, make_plan(loc, upsert("b", page("b")))], "train/x")
    assert [x.state for x in landed] == ["applied"] * 4
    assert git(loc.repo.place, "rev-list", "--reverse", "main..train/x").split() == [x.commit for x in landed]
    assert texts(loc, landed[1].commit) == {"a": B}
    assert texts(loc, "train/x") == {"b": page("b")}
    fsck(loc.repo.place)


def test_a_group_is_all_or_nothing(loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("a", A))], "main")
    before = state(loc)
    good, bad = make_plan(loc, upsert("b", page("b"))), make_plan(loc, upsert("a", C, B))
    with pytest.raises(ConflictError):
        commit(loc, [good, bad], "main", extra_evidence=[evidence.case_file("ab", {})])
    assert state(loc) == before
    assert evidence.read(loc, "cases/ab/ab.json") is None


def test_moved_branch_is_no_conflict_when_the_files_did_not_change(loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("a", A))], "main")
    plan = make_plan(loc, upsert("a", B, A))
    commit(loc, [make_plan(loc, upsert("b", page("b")))], "main")
    (landed,) = commit(loc, [plan], "main")
    assert texts(loc, "main") == {"a": B, "b": page("b")}
    assert git(loc.repo.place, "rev-list", "--count", f"{plan.base_commit}..{landed.commit}") == "2"


def test_conflict_has_the_three_texts(loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("a", A))], "main")
    plan = make_plan(loc, upsert("a", B, A))
    commit(loc, [make_plan(loc, upsert("a", C, A))], "main")
    with pytest.raises(ConflictError) as caught:
        commit(loc, [plan], "main")
    (conflict,) = caught.value.conflicts
    assert (conflict.name, conflict.base, conflict.ours, conflict.theirs) == ("a", A, C, B)


def test_what_two_plans_add_to_one_page_is_merged_and_on_record(loc: Location) -> None:
    first = page("a", "One.")
    commit(loc, [make_plan(loc, upsert("a", first), rollouts=())], "main")
    texts_ = [page("a", "One.", lesson) for lesson in ("Two.", "Three.")]
    plans = [make_plan(loc, upsert("a", text, first), rollouts=()) for text in texts_]
    landed = [commit(loc, [plan], "main")[0] for plan in plans]
    assert [(x.plan_id, x.state) for x in landed] == [(plan.plan_id, "applied") for plan in plans]
    assert texts(loc, "main") == {"a": page("a", "One.", "Two.", "Three.")}
    merged = record.plan_from(loc, landed[1].commit)
    assert (merged.plan_id, merged.digest == plans[1].digest) == (plans[1].plan_id, False)
    assert [(m.name, m.verdict, m.resolved_by) for m in merged.merges] == [("a", "PROVEN", "")]
    assert {f.problems for f in verify(loc, "main")} == {()}
    assert not [n for f in verify(loc, "main") for n in f.notes if "cannot be made again" in n]
    assert commit(loc, [plans[1]], "main")[0] == Landed(merged.plan_id, landed[1].commit, "already")


def test_a_merged_page_has_to_be_within_the_limits(loc: Location) -> None:
    parts = [[f"{side} {n}." for n in range(600)] for side in ("Left", "Right")]
    first = page("a", "One.")
    commit(loc, [make_plan(loc, upsert("a", first))], "main")
    plans = [make_plan(loc, upsert("a", page("a", "One.", *part), first)) for part in parts]
    commit(loc, [plans[0]], "main")
    before = state(loc)
    with pytest.raises(LimitError, match="lines"):
        commit(loc, [plans[1]], "main")
    assert state(loc) == before


def test_a_plan_without_gradients_keeps_its_id_where_half_of_it_is_there(loc: Location) -> None:
    plan = make_plan(loc, upsert("a", A), upsert("b", page("b")), rollouts=())
    commit(loc, [make_plan(loc, upsert("a", A), rollouts=())], "main")
    (landed,) = commit(loc, [plan], "main")
    assert record.plan_from(loc, landed.commit).plan_id == plan.plan_id == landed.plan_id
    assert {f.problems for f in verify(loc, "main")} == {()}


def test_same_plan_again_is_already_there(loc: Location) -> None:
    plan = make_plan(loc, upsert("a", A))
    (first,) = commit(loc, [plan], "main")
    before = state(loc)
    assert commit(loc, [plan], "main") == [Landed(plan.plan_id, first.commit, "already")]
    assert state(loc) == before


def test_reverted_plan_does_not_come_back_with_a_late_retry(loc: Location) -> None:
    plan = make_plan(loc, upsert("a", A))
    (first,) = commit(loc, [plan], "main")
    git(loc.repo.place, "revert", "--no-edit", first.commit)
    assert commit(loc, [plan], "main") == [Landed(plan.plan_id, first.commit, "already")]
    again = make_plan(loc, upsert("a", A), again=1)
    assert commit(loc, [again], "main")[0].state == "applied"


def test_other_plan_with_the_same_result_is_already_there(loc: Location) -> None:
    base = loc.repo.ref(loc.main_ref)
    (first,) = commit(loc, [make_plan(loc, upsert("a", A))], "main")
    other = make_plan(loc, upsert("a", A), learner="other/2", base_commit=base)
    assert commit(loc, [other], "main") == [Landed(other.plan_id, first.commit, "already")]


def test_half_of_a_plan_that_is_there_already_is_left_out(loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("a", A))], "main")
    plan = make_plan(loc, upsert("a", A), upsert("b", page("b")))
    (landed,) = commit(loc, [plan], "main")
    assert git(loc.repo.place, "show", "--format=", "--name-only", landed.commit) == "experiences/b.md"


def test_deletion_of_what_somebody_deleted_is_already_there(loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("a", A))], "main")
    plan = make_plan(loc, delete("a", A))
    (gone,) = commit(loc, [make_plan(loc, delete("a", A), learner="person")], "main")
    assert commit(loc, [plan], "main") == [Landed(plan.plan_id, gone.commit, "already")]


def test_update_of_what_somebody_deleted_is_a_conflict(loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("a", A))], "main")
    plan = make_plan(loc, upsert("a", B, A))
    commit(loc, [make_plan(loc, delete("a", A))], "main")
    with pytest.raises(ConflictError) as caught:
        commit(loc, [plan], "main")
    assert caught.value.conflicts[0].ours is None


@pytest.mark.parametrize(
    ("items", "error", "words"),
    [
        ([], UsageError, "no items"),
        ([upsert("b", A), upsert("b", B)], RefusedError, "two items"),
        ([upsert("b", A), upsert("B", B)], RefusedError, "two items"),
        ([upsert("old", B)], ConflictError, "old"),
        ([upsert("Old", B)], RefusedError, "twin of 'old'"),
        ([upsert("CAFÉ", B)], RefusedError, "twin of 'café'"),
        ([upsert("cafe\u0301", B)], InvalidNameError, "NFC"),
        ([upsert("../b", A)], InvalidNameError, "invalid"),
        ([upsert(".git", A)], InvalidNameError, "invalid"),
        ([delete("old", B)], ConflictError, "old"),
        ([delete("nothing", B)], NotFoundError, "nothing"),
        ([upsert("nothing", A, B)], NotFoundError, "nothing"),
        ([upsert("b", A + "x" * 70_000)], LimitError, "bytes"),
        ([upsert("b", A + "\n" * 1_100)], LimitError, "lines"),
        ([upsert(f"n{n}", A) for n in range(51)], LimitError, "items"),
        ([delete(f"n{n}", A) for n in range(6)], LimitError, "deletions"),
        ([upsert("b", A + "a\0b\n")], RefusedError, "line 9: invisible"),
        ([upsert("b", A + "a\u202eb\n")], RefusedError, "invisible"),
        ([upsert("b", A + "a\ud800b\n")], RefusedError, "surrogate"),
        ([upsert("b", "---\na: [\n---\n")], UsageError, "front matter"),
        ([upsert("old", B, A).model_copy(update={"after_content": None})], UsageError, "upsert"),
        ([delete("old", A).model_copy(update={"after_content": B})], UsageError, "deletion"),
    ],
)
def test_refused_and_nothing_written(loc: Location, items: list, error: type[XpError], words: str) -> None:
    commit(loc, [make_plan(loc, upsert("old", A), upsert("café", page("café")))], "main")
    before = state(loc), sorted(loc.repo.pack_dir.iterdir())
    plan = make_plan(loc, *items)
    with pytest.raises(error, match=words) as caught:
        commit(loc, [plan], "main")
    assert type(caught.value) is error or error is UsageError
    assert (state(loc), sorted(loc.repo.pack_dir.iterdir())) == before


def test_plan_of_another_store_is_refused(loc: Location) -> None:
    with pytest.raises(UsageError, match="made for store"):
        commit(loc, [make_plan(loc, upsert("a", A), store_id="other")], "main")


def test_twin_of_a_name_that_macos_wrote_is_refused(loc: Location) -> None:
    folder = loc.repo.place / "experiences"
    folder.mkdir()
    (folder / "cafe\u0301.md").write_text(A)
    git(loc.repo.place, "add", ".")
    git(loc.repo.place, "commit", "-qm", "by hand")
    with pytest.raises(RefusedError, match="twin"):
        commit(loc, [make_plan(loc, upsert("café", A))], "main")


def test_file_that_is_no_utf8_or_no_file_is_refused(loc: Location) -> None:
    folder = loc.repo.place / "experiences"
    folder.mkdir()
    (folder / "a.md").write_bytes(b"\xff")
    (folder / "b.md").symlink_to("/etc/passwd")
    git(loc.repo.place, "add", ".")
    git(loc.repo.place, "commit", "-qm", "by hand")
    for name in ("a", "b"):
        with pytest.raises(RefusedError):
            commit(loc, [make_plan(loc, upsert(name, A))], "main")


def test_human_invisible_text_may_stay_but_not_grow(loc: Location) -> None:
    mark = A + "x\u202ey\n"
    folder = loc.repo.place / "experiences"
    folder.mkdir()
    (folder / "a.md").write_text(mark)
    git(loc.repo.place, "add", ".")
    git(loc.repo.place, "commit", "-qm", "by hand")
    commit(loc, [make_plan(loc, upsert("a", mark + "more\n", mark))], "main")
    with pytest.raises(RefusedError, match="invisible"):
        commit(loc, [make_plan(loc, upsert("a", mark * 2, mark + "more\n"))], "main")


@pytest.mark.parametrize("branch", ["xp/evidence", "a..b", "-x ", "main/below"])
def test_bad_branches(loc: Location, branch: str) -> None:
    before = state(loc)
    with pytest.raises(XpError):
        commit(loc, [make_plan(loc, upsert("a", A))], branch)
    assert state(loc) == before


def test_new_branch_starts_where_it_is_told(loc: Location) -> None:
    (one,) = commit(loc, [make_plan(loc, upsert("a", A))], "train/one")
    plan = make_plan(loc, upsert("a", B, A), base_commit=one.commit)
    commit(loc, [plan], "train/two", start="train/one")
    assert texts(loc, "train/two") == {"a": B}
    with pytest.raises(NotFoundError):
        commit(loc, [plan], "train/three", start="nowhere")


def test_commit_in_a_bare_clone(loc: Location, tmp_path: Path) -> None:
    commit(loc, [make_plan(loc, upsert("a", A))], "main")
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(loc.repo.place), str(bare))
    there = Location.find(bare)
    commit(there, [make_plan(there, upsert("a", B, A))], "main")
    assert texts(there, "main") == {"a": B}
    fsck(bare)


def test_linked_working_tree_follows_and_the_main_one_stays(loc: Location, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(loc.repo.place, "worktree", "add", "-q", "-b", "train/x", str(linked))
    commit(loc, [make_plan(loc, upsert("a", A))], "train/x")
    assert (linked / "experiences" / "a.md").read_text() == A
    assert git(linked, "status", "--short") == git(loc.repo.place, "status", "--short") == ""
    there = Location.find(linked)
    commit(there, [make_plan(there, upsert("b", A))], "main")
    assert (loc.repo.place / "experiences" / "b.md").read_text() == A
    assert git(linked, "status", "--short") == git(loc.repo.place, "status", "--short") == ""


def test_local_changes_elsewhere_stay_as_they_are(loc: Location) -> None:
    here = loc.repo.place
    commit(loc, [make_plan(loc, upsert("a", A), upsert("b", page("b")))], "main")
    (here / "experiences" / "b.md").write_text("edited\n")
    (here / "staged.txt").write_text("staged\n")
    git(here, "add", "staged.txt")
    before = git(here, "status", "--short")
    commit(loc, [make_plan(loc, upsert("a", B, A))], "main")
    assert (here / "experiences" / "a.md").read_text() == B
    assert git(here, "status", "--short") == before
    with pytest.raises(RefusedError, match=r"local changes .* experiences/b\.md|b\.md"):
        commit(loc, [make_plan(loc, upsert("b", B, page("b")))], "main")
    assert git(here, "status", "--short") == before


def test_touched_file_is_no_local_change(loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("a", A))], "main")
    file = loc.repo.place / "experiences" / "a.md"
    file.unlink()
    file.write_text(A)
    commit(loc, [make_plan(loc, upsert("a", B, A))], "main")
    assert file.read_text() == B


def test_store_in_a_code_repository_touches_only_its_folder(tmp_path: Path) -> None:
    code = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "trunk", str(code))
    git(code, "config", "user.name", "Pat")
    git(code, "config", "user.email", "pat@example.org")
    (code / "app.py").write_text("print()\n")
    git(code, "add", ".")
    git(code, "commit", "-qm", "code")
    loc = init(code / "agents" / "desk")
    plan = make_plan(loc, upsert("a", A))
    (code / "app.py").write_text("print(1)\n")
    git(code, "commit", "-qam", "more code")
    commit(loc, [plan], "trunk")
    assert git(code, "show", "--format=", "--name-only") == "agents/desk/experiences/a.md"
    (code / "experiences").mkdir()
    git(code, "mv", "agents/desk", "moved")
    git(code, "commit", "-qm", "move")
    commit(loc, [make_plan(loc, upsert("a", B, A))], "trunk")
    assert git(code, "show", "--format=", "--name-only") == "moved/experiences/a.md"
    assert texts(loc, "trunk") == {"a": B}
    assert texts(loc, "trunk~1") == {"a": A}
    assert git(code, "status", "--short") == ""


def test_two_stores_in_one_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "r")
    first = make_store(tmp_path / "r" / "first")
    second = init(tmp_path / "r" / "second")
    commit(first, [make_plan(first, upsert("a", A))], "main")
    commit(second, [make_plan(second, upsert("a", B))], "main")
    assert (texts(first, "main"), texts(second, "main")) == ({"a": A}, {"a": B})
    refs = git(tmp_path / "r", "for-each-ref", "--format=%(refname)").split()
    assert refs == ["refs/heads/main", "refs/heads/xp/evidence", "refs/heads/xp/second/evidence"]
    with pytest.raises(UsageError, match="made for store"):
        commit(first, [make_plan(second, upsert("b", A))], "main")


def test_environment_of_a_hook_does_not_redirect(
    loc: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "other")], check=True)
    for key in ("GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.setenv(key, str(tmp_path / "other" / ".git"))
    again = Location.find(loc.repo.place)
    commit(again, [make_plan(again, upsert("a", A))], "main")
    monkeypatch.undo()
    assert texts(loc, "main") == {"a": A}
    assert (loc.repo.place / "experiences" / "a.md").read_text() == A


def test_a_branch_that_only_the_remote_has_is_continued(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    main = loc.repo.resolve("main")
    (there,) = commit(loc, [make_plan(loc, upsert("a", A))], "train/x")
    git(loc.repo.place, "switch", "-q", "--orphan", "pages")
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "pages")
    git(tmp_path, "clone", "-q", "-b", "pages", "s", "c")
    clone = Location.find(tmp_path / "c")
    plan = make_plan(loc, upsert("b", A), base_commit=main)
    for branch, parent in (("train/x", there.commit), ("train/y", main), ("main", main)):
        (landed,) = commit(clone, [plan], branch)
        assert clone.repo.commit(landed.commit).parents == (parent,)
        assert clone.repo.ref(clone.branch_ref(branch)) == landed.commit
    assert clone.repo.ref("refs/remotes/origin/main") == main


class Asked:
    """Somebody else who waits to write a plan; see xpstore.waiting."""

    def __init__(self, loc: Location, plan: PolicyUpdatePlan) -> None:
        self.plan = plan
        self.data = wanted_of(loc, plan).encode(loc)
        self.heard: list[list[str]] = []

    def answer(self, data: bytes) -> None:
        self.heard = json.loads(data)


def wanted_of(loc: Location, plan: PolicyUpdatePlan) -> Wanted:
    return Wanted(tuple(prepare(loc, [plan])), loc.main_ref, "")


def test_plans_of_others_who_wait_are_taken_along_in_one_move(loc: Location) -> None:
    others = [Asked(loc, make_plan(loc, upsert(name, page(name)), rollouts=())) for name in "bc"]
    mine = make_plan(loc, upsert("a", page("a")), rollouts=())
    before = git(loc.repo.place, "rev-list", "--count", "main")
    landed = writing._write(loc, wanted_of(loc, mine), others)
    assert [one.plan_id for one in landed] == [mine.plan_id]
    assert [one.heard[0][::2] for one in others] == [[one.plan.plan_id, "applied"] for one in others]
    assert list(texts(loc, "main")) == ["a", "b", "c"]
    assert int(git(loc.repo.place, "rev-list", "--count", "main")) == int(before) + 3
    assert git(loc.repo.place, "reflog", "-1", "--format=%gs", "main") == "xp: 3 plans"
    assert {f.state for f in verify(loc, "main")} == {"intact"}


def test_one_of_the_others_that_is_refused_stops_nobody_else(loc: Location) -> None:
    stale = make_plan(loc, upsert("a", page("a", "Never look before you leap.")))
    others = [Asked(loc, stale), Asked(loc, make_plan(loc, upsert("b", page("b"))))]
    writing._write(loc, wanted_of(loc, make_plan(loc, upsert("a", page("a")))), others)
    assert texts(loc, "main") == {"a": page("a"), "b": page("b")}
    assert others[0].heard == []
    assert others[1].heard[0][2] == "applied"


def test_a_local_file_in_the_way_of_another_one_stops_only_that(loc: Location) -> None:
    (loc.repo.place / "experiences").mkdir(exist_ok=True)
    (loc.repo.place / "experiences" / "b.md").write_text("mine")
    other = Asked(loc, make_plan(loc, upsert("b", page("b"))))
    writing._write(loc, wanted_of(loc, make_plan(loc, upsert("a", page("a")))), [other])
    assert list(texts(loc, "main")) == ["a"]
    assert other.heard == []
    assert (loc.repo.place / "experiences" / "b.md").read_text() == "mine"


def test_a_plan_that_the_group_has_applied_and_taken_back_is_not_applied_again(loc: Location) -> None:
    """As it is not where a commit that has landed took it back."""
    plan = make_plan(loc, upsert("a", page("a")))
    undo = make_plan(loc, delete("a", page("a")))
    other = Asked(loc, plan)
    mine = Wanted(tuple(prepare(loc, [plan, undo])), loc.main_ref, "")
    first, _ = writing._write(loc, mine, [other])
    assert texts(loc, "main") == {}
    assert other.heard == [[plan.plan_id, first.commit, "already"]]
