from __future__ import annotations

import pytest

from tests.builders import ROLLOUT, make_plan, upsert
from xpstore.cli import log, output
from xpstore.commit import commit
from xpstore.evidence import ledger_file, write
from xpstore.location import Location
from xpstore.plan import RolloutRef


@pytest.fixture
def taught(store):
    """A plan on train/x, between two edits by hand of the same page."""
    store.git("checkout", "-q", "-b", "train/x")
    loc = Location.find(store.path)
    plan = make_plan(loc, upsert("new-page", "Do this.\n"), branch="train/x", subject="Teach the new page")
    commit(loc, [plan], "train/x")
    store.write("new-page", "Do that.\n")
    store.commit("Correct the page")
    return plan.plan_id


def test_log_reads_like_git(store, taught):
    code, out, err = store.xp("log", "train/x")
    assert (code, err) == (0, "")
    head = store.git("rev-parse", "HEAD")
    lines = out.splitlines()
    assert lines[0] == f"commit {head}"
    assert "Author:  Ann <ann@example.invalid>" in lines
    assert "    Correct the page" in lines
    assert f"Plan:    {taught} (offline/1, 1 passed=1)" in lines
    assert "  A new-page" in lines
    assert "Plan-Id" not in out


@pytest.mark.usefixtures("taught")
def test_one_line_per_commit_and_counts(store):
    code, out, _ = store.xp("log", "--oneline", "-1")
    assert code == 0
    assert out == f"{store.git('rev-parse', 'HEAD')[:9]} Correct the page\n"
    assert [line[10:] for line in store.xp("log", "--oneline", "-n", "2")[1].splitlines()] == [
        "Correct the page",
        "Teach the new page",
    ]
    assert store.xp("log", "--oneline", "main..train/x")[1].count("\n") == 2
    assert store.xp("log", "--oneline", "-0") == (0, "", "")


@pytest.mark.usefixtures("taught")
def test_log_of_one_experience_follows_renames(store):
    store.git("mv", "experiences/new-page.md", "experiences/renamed.md")
    store.commit("Rename")
    subjects = [c["subject"] for c in store.json("log", "--experience", "renamed")["commits"]]
    assert subjects == ["Rename", "Correct the page", "Teach the new page"]


@pytest.mark.usefixtures("taught")
@pytest.mark.parametrize(
    ("args", "found"),
    [
        (["nobody"], False),
        (["new-page", "main"], False),
        (["new-page", "train/x..main"], False),
        (["new-page", "main..train/x"], True),
        (["refund-item", "main..train/x"], True),
        (["refund-item", "-0"], True),
    ],
)
def test_an_experience_that_never_was_is_an_error(store, args, found):
    code, out, err = store.xp("log", "--oneline", "--experience", *args)
    assert code == (0 if found else 1)
    assert bool(err) is not found
    if not found:
        assert out == ""
        assert err.startswith(f"error: there never was an experience '{args[0]}' in ")


def test_log_json(store, taught):
    answer = store.json("log", "main..train/x")
    assert answer["ref"] == "main..train/x"
    person, plan = answer["commits"]
    assert person["plans"] == []
    assert person["changes"] == [{"change": "M", "name": "new-page", "old_name": "new-page"}]
    assert plan["date"].endswith("Z")
    assert plan["body"] == "Seen in 1 rollout, 1 passed."
    assert plan["plans"] == [
        {
            "plan_id": taught,
            "learner": "offline/1",
            "run_id": "run-1",
            "rollouts": "1 passed=1",
            "reverts": [],
        }
    ]


def test_a_merge_names_the_plans_it_brought(store, taught):
    store.git("checkout", "-q", "main")
    store.git("merge", "-q", "--no-ff", "-m", "Merge the candidate", "train/x")
    newest = store.json("log", "-1")["commits"][0]
    assert newest["merged_plans"] == [taught]
    assert f"Merges:  {taught}" in store.xp("log", "-1")[1]


@pytest.mark.parametrize(
    ("args", "code"), [(["nowhere"], 1), (["--", "--all"], 1), (["-n", "x"], 2), (["a", "b"], 2)]
)
def test_wrong_arguments(store, args, code):
    assert store.xp("log", *args)[0] == code


def test_refs_are_shown_on_a_terminal(store, monkeypatch):
    names = log.decorations(Location.find(store.path))
    assert names == {store.git("rev-parse", "main"): ["main"]}
    monkeypatch.setattr(log, "to_terminal", lambda: True)
    monkeypatch.setattr(output, "to_terminal", lambda: True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "(main) Write four pages" in store.xp("log", "--oneline")[1]


@pytest.mark.usefixtures("taught")
def test_log_of_a_run_and_of_evidence(store):
    loc = Location.find(store.path)
    other = RolloutRef(id="0b" * 10, passed=False, case="broken lamp")
    for name, rollout in (("refund-bill", other), ("second-page", RolloutRef(id="0c" * 10))):
        plan = make_plan(
            loc, upsert(name, "Do it.\n"), branch="train/x", run_id="later", rollouts=(rollout,), subject=name
        )
        commit(loc, [plan], "train/x")

    def subjects(*args: str) -> list[str]:
        return [c["subject"] for c in store.json("log", *args)["commits"]]

    assert subjects("--run", "run-1") == ["Teach the new page"]
    assert subjects("--run", "lat") == ["second-page", "refund-bill"]
    assert subjects("--run", "lat", "-n", "1") == ["second-page"]
    assert subjects("--evidence", ROLLOUT[:8]) == ["Teach the new page"]
    assert subjects("--evidence", "broken lamp") == ["refund-bill"]
    assert subjects("--evidence", "0b" * 10, "--run", "later", "--experience", "refund-bill") == [
        "refund-bill"
    ]
    assert subjects("--evidence", "0b" * 10, "--run", "run-1", "main..train/x") == []
    assert subjects("--evidence", "0b" * 10, "--experience", "new-page") == []
    store.git("checkout", "-q", "main")
    store.git("merge", "-q", "--no-ff", "-m", "Merge it", "train/x")
    assert subjects("--run", "run-1") == subjects("--evidence", "0b0b") == ["Merge it"]


@pytest.mark.usefixtures("taught")
@pytest.mark.parametrize(
    "args", [["--run", "never"], ["--run", ""], ["--evidence", "never"], ["--evidence", "ffffff"]]
)
def test_a_run_or_evidence_that_never_was_is_an_error(store, args):
    code, out, err = store.xp("log", *args)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")


def test_evidence_that_taught_nothing_has_no_commits_and_says_so(store):
    loc = Location.find(store.path)
    write(loc, [ledger_file("0d" * 10, {"event": "received"})], "Receive")
    assert store.xp("log", "--evidence", "0d0d") == (0, "", f"no plan rests on rollout {'0d' * 10}\n")
