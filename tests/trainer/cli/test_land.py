from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from trainer.cli import land as verb
from xpstore import landing
from xpstore.cli.app import App
from xpstore.cli.main import run
from xpstore.commit import commit

if TYPE_CHECKING:
    from xpstore.location import Location

BRANCH = "train/x"
NO_WORLD = "the store names no environment to measure it in"


@pytest.fixture
def loc(tmp_path) -> Location:
    found = make_store(tmp_path / "s")
    for name in ("a", "b"):
        commit(found, [make_plan(found, upsert(name, page(name)), branch=BRANCH)], BRANCH)
    return found


def test_in_the_manner_of_git(loc, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    old, one, two = git(loc.repo.place, "log", "--reverse", "--format=%H", BRANCH).split()
    assert run(["-C", "s", "land", BRANCH, "--dry-run"]) == 0
    lines = ["Fast-forward", f"  {one[:9]} Teach a", f"  {two[:9]} Teach b", f"  no gate: {NO_WORLD}"]
    assert capsys.readouterr().out.splitlines() == [f"Would update {old[:9]}..{two[:9]}", *lines]
    assert git(loc.repo.place, "rev-parse", "main") == old
    assert run(["-C", "s", "land", BRANCH]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"Updating {old[:9]}..{two[:9]}",
        *lines,
        "2 commits landed on main",
        "",
        "Next:",
        "  xp -C s log main",
    ]
    assert git(loc.repo.place, "rev-parse", "main") == two
    assert run(["-C", "s", "land", BRANCH]) == 0
    assert capsys.readouterr() == ("Everything up-to-date\n", "")


def test_as_json(loc, capsys):
    where = ["-C", str(loc.repo.place)]
    old, new = (git(loc.repo.place, "rev-parse", ref) for ref in ("main", BRANCH))
    assert run([*where, "land", BRANCH, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["state"], answer["dry_run"], answer["verdict"]) == ("landed", False, None)
    assert (answer["branch"], answer["main"], answer["old"], answer["new"]) == (BRANCH, "main", old, new)
    assert [row["subject"] for row in answer["commits"]] == ["Teach a", "Teach b"]
    assert answer["plans"] == [plan["plan_id"] for row in answer["commits"] for plan in row["plans"]]
    assert run([*where, "land", BRANCH, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "nothing"


def test_a_branch_that_is_brought_up_to_date_says_so(loc, capsys):
    where = ["-C", str(loc.repo.place)]
    commit(loc, [make_plan(loc, upsert("a", page("a", "Ask first.")))], "main")
    old = git(loc.repo.place, "rev-parse", "main")
    assert run([*where, "land", BRANCH, "--dry-run", "--json", "--no-input"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["how"], answer["merged"], answer["left_out"]) == ("re-parented", ["a"], [])
    assert [(m["name"], m["verdict"], m["resolved_by"]) for m in answer["merges"]] == [("a", "PROVEN", "")]
    assert run([*where, "land", BRANCH]) == 0
    new = git(loc.repo.place, "rev-parse", "main")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"Updating {old[:9]}..{new[:9]}", "Re-parented train/x on main, which had moved"]
    assert "  merged: a, which main had changed too (PROVEN)" in lines
    assert "2 commits landed on main" in lines


def test_a_merge_commit_lists_what_it_brings(loc, capsys):
    where = ["-C", str(loc.repo.place)]
    git(loc.repo.place, "branch", "release", "main")
    assert run([*where, "land", BRANCH, "--merge", "--onto", "release"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Merge commit"
    assert [line.split(maxsplit=1)[1] for line in lines[2:5]] == [
        f"Merge branch '{BRANCH}' into release",
        "Teach a",
        "Teach b",
    ]
    assert lines[5:7] == [f"  no gate: {NO_WORLD}", "2 commits landed on release"]
    assert lines[6] == "2 commits landed on release"


def test_commits_that_change_no_page_are_counted_too(loc, capsys):
    here = loc.repo.place
    git(here, "switch", "-q", "-c", "empty")
    git(here, "commit", "-q", "--allow-empty", "-m", "Nothing")
    assert run(["-C", str(here), "land", "empty"]) == 0
    assert "1 commit landed on main" in capsys.readouterr().out


def test_what_is_left_out_is_counted(loc, capsys):
    here = loc.repo.place
    commit(loc, [make_plan(loc, upsert("c", page("c")))], "main")
    git(here, "cherry-pick", f"{BRANCH}~1")
    assert run(["-C", str(here), "land", BRANCH]) == 0
    out = capsys.readouterr().out
    assert "  left out: 1 commit of which nothing is left to land" in out
    assert "1 commit landed on main" in out


def test_a_conflict_names_the_pages(loc, capsys):
    where = ["-C", str(loc.repo.place)]
    for branch, text in ((BRANCH, "IF late DO call `refund`."), ("main", "IF late DO NOT call `refund`.")):
        commit(loc, [make_plan(loc, upsert("r", page("r", text)), branch=branch)], branch)
    before = git(loc.repo.place, "for-each-ref")
    assert run([*where, "land", BRANCH, "--json", "--no-input"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["error"], answer["conflicts"]) == ("ConflictError", ["r"])
    assert f"git rebase main {BRANCH}" in answer["hint"]
    assert git(loc.repo.place, "for-each-ref") == before


@pytest.mark.parametrize(
    ("branch", "code", "words"),
    [
        ("train/none", 2, "there is no branch"),
        ("main", 2, "where candidates land"),
        (BRANCH, 1, "in the way"),
    ],
)
def test_what_is_refused(loc, capsys, branch, code, words):
    (loc.repo.place / "experiences").mkdir()
    (loc.repo.place / "experiences" / "a.md").write_text("mine")
    before = git(loc.repo.place, "for-each-ref")
    assert run(["-C", str(loc.repo.place), "land", branch]) == code
    out, err = capsys.readouterr()
    assert (out, words in err, "hint: " in err) == ("", True, True)
    assert run(["-C", str(loc.repo.place), "land", branch, "--json"]) == code
    assert words in json.loads(capsys.readouterr().out)["message"]
    assert git(loc.repo.place, "for-each-ref") == before


@pytest.mark.parametrize(("decision", "code"), [("accept", 0), ("reject", 1), ("inconclusive", 2)])
def test_what_a_gate_says_is_shown_and_is_the_exit_code(loc, capsys, monkeypatch, decision, code):
    real = landing.land
    verdict = landing.GateVerdict(decision, "40 of 80, 41 before")

    def gated(*args, **options):
        return real(*args, gate=lambda _: verdict, **options)

    monkeypatch.setattr(landing, "land", gated)
    old = git(loc.repo.place, "rev-parse", "main")
    assert run(["-C", str(loc.repo.place), "land", BRANCH]) == code
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Gate: {decision}: 40 of 80, 41 before"
    if code:
        assert lines[1:] == [f"Nothing landed; main stays at {old[:9]}"]
        assert git(loc.repo.place, "rev-parse", "main") == old


def test_the_object_names_the_verdict(loc, tmp_path):
    verdict = landing.GateVerdict("reject", "worse")
    result = landing.land(loc, BRANCH, gate=lambda _: verdict)
    assert verb.as_object(result, dry_run=False)["verdict"] == {"decision": "reject", "reason": "worse"}
    assert next(verb.describe(result, App(tmp_path), dry_run=False)).startswith("Gate: reject")


def test_what_main_says_already_is_named(loc, capsys):
    where = ["-C", str(loc.repo.place)]
    lesson = "Ask for the order number and the zip code before you cancel anything."
    commit(loc, [make_plan(loc, upsert("refund", page("refund", lesson)))], "main")
    commit(loc, [make_plan(loc, upsert("again", page("again", lesson)))], "train/twice")
    assert run([*where, "land", "train/twice", "--dry-run", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["duplicates"]
    assert (one["kind"], one["page"], one["other"]) == ("page", "again", "refund")
    assert run([*where, "land", "train/twice"]) == 0
    assert "  warning: again says what refund says already (100% of it)" in capsys.readouterr().out


def test_a_suspect_plan_waits_for_a_person(loc, capsys):
    where = ["-C", str(loc.repo.place)]
    plan = make_plan(loc, upsert("c", page("c")), branch=BRANCH, suspect="asks for approval")
    (made,) = commit(loc, [plan], BRANCH)
    before = git(loc.repo.place, "rev-parse", "main")
    assert run([*where, "land", BRANCH]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"Suspect: {made.commit[:9]} Teach c: asks for approval"
    assert lines[-1] == f"Nothing landed; main stays at {before[:9]}"
    undo = lines[2].partition("#")[0].split()
    assert undo[-2:] == ["--branch", BRANCH]
    assert run([*where, "land", BRANCH, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert (answer["state"], [row["why"] for row in answer["suspects"]]) == ("suspect", ["asks for approval"])
    assert run([*where, "land", BRANCH, "--accept-suspect", "--dry-run"]) == 0
    assert git(loc.repo.place, "rev-parse", "main") == before
    assert "  Pat accepts the suspect plan " in capsys.readouterr().out
    assert run([*where, *undo[3:]]) == 0  # what it says to type
    assert run([*where, "land", BRANCH]) == 0
    assert "Suspect" not in capsys.readouterr().out
