from __future__ import annotations

import json
import subprocess

import pytest

from tests.builders import ROLLOUT, make_plan, upsert
from xpstore import evidence
from xpstore.cli import forget as verb
from xpstore.commit import commit
from xpstore.hashing import content_id
from xpstore.location import Location

WORDS = b"my address is 12 Hidden Street"


@pytest.fixture
def plan_id(store) -> str:
    """A plan that cites ROLLOUT, which is on record."""
    loc = Location.find(store.path)
    plan = make_plan(loc, upsert("new-page", "Do this.\n"), subject="Teach it")
    data = {"case": {"name": "c"}, "messages": [WORDS.decode()]}
    commit(loc, [plan], "main", extra_evidence=[evidence.rollout_file(ROLLOUT, data)])
    return plan.plan_id


def is_on_record(store) -> bool:
    return bool(evidence.find_ids(Location.find(store.path), "rollouts", ROLLOUT))


@pytest.mark.usefixtures("plan_id")
def test_without_a_terminal_it_wants_to_be_told(store):
    code, _, err = store.xp("forget", ROLLOUT)
    assert code == 2
    assert "--yes" in err
    assert is_on_record(store)


def test_dry_run_lists_what_goes_and_the_lessons_that_stay(store, plan_id):
    code, out, err = store.xp("forget", ROLLOUT[:8], "--dry-run")
    assert (code, err) == (0, "")
    assert out.startswith(f"Rollout {ROLLOUT}: ")
    assert f"  rollouts/{ROLLOUT[:2]}/{ROLLOUT}.json" in out
    assert f"  {plan_id} " in out
    assert out.endswith("Nothing was written.\n")
    assert is_on_record(store)


def test_yes_forgets_for_good(store, plan_id):
    answer = store.json("forget", ROLLOUT, "--yes")
    assert (answer["rollouts"], answer["dry_run"]) == ([ROLLOUT], False)
    assert [lesson["plan_id"] for lesson in answer["lessons"]] == [plan_id]
    assert not is_on_record(store)
    command = ["git", "cat-file", "--batch", "--batch-all-objects", "--unordered"]
    assert WORDS not in subprocess.check_output(command, cwd=store.path)
    assert store.xp("forget", ROLLOUT, "--yes")[0] == 1


@pytest.mark.parametrize(("answer", "code"), [("n\n", 1), ("y\n", 0)])
@pytest.mark.usefixtures("plan_id")
def test_on_a_terminal_it_asks(store, monkeypatch, answer, code):
    monkeypatch.setattr(verb.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: answer.strip())
    assert store.xp("forget", ROLLOUT)[0] == code
    assert is_on_record(store) == (code == 1)


@pytest.mark.parametrize("yes", [("--yes",), ()])
def test_an_unknown_rollout(store, yes):
    code, out, _ = store.xp("forget", "--json", *yes, "ffff0000")
    assert code == 1
    assert json.loads(out)["error"] == "NotFoundError"


@pytest.mark.usefixtures("plan_id")
def test_it_is_forgotten_before_a_word_is_written(store, monkeypatch):
    was_there: list[bool] = []

    def lines(_: object) -> list[str]:
        was_there.append(is_on_record(store))
        return []

    monkeypatch.setattr(verb, "_lines", lines)
    assert store.xp("forget", ROLLOUT, "--yes")[0] == 0
    assert was_there == [False]


@pytest.fixture
def session(store) -> list[str]:
    """Two rollouts of the session s1, and one of another that only speaks of it."""
    loc = Location.find(store.path)
    rows = [{"n": n, "metadata": {"session": "s1"}} for n in range(2)]
    rows.append({"said": [{"session": "s1"}], "metadata": {"session": "s2"}})
    ids = [content_id(row) for row in rows]
    evidence.write(loc, [evidence.rollout_file(i, row) for i, row in zip(ids, rows, strict=True)], "Receive")
    return ids


def test_a_session_is_forgotten_as_a_whole_and_no_other(store, session):
    told = store.json("forget", "s1", "--dry-run")
    assert told["rollouts"] == sorted(session[:2])
    assert store.json("forget", "s1", "--yes")["rollouts"] == sorted(session[:2])
    assert evidence.find_ids(Location.find(store.path), "rollouts", "") == [session[2]]
    code, _, err = store.xp("forget", "s1", "--yes")
    assert code != 0
    assert "s1" in err


def test_what_names_a_session_and_a_rollout_names_neither(store, session):
    loc = Location.find(store.path)
    begins = session[0][:8]
    rows = [
        {"metadata": {"session": begins, "archive_uri": "viking://user/a/sessions/x/history/archive_001"}},
        {"metadata": {"session": "s1", "archive_uri": "viking://user/b/sessions/s1/history/archive_001"}},
    ]
    new = [content_id(row) for row in rows]
    evidence.write(loc, [evidence.rollout_file(i, row) for i, row in zip(new, rows, strict=True)], "Receive")
    for text, why in ((begins, "begins the id of a rollout"), ("s1", "names 2 sessions")):
        code, _, err = store.xp("forget", text, "--yes")
        assert code == 1
        assert why in err
    assert len(evidence.find_ids(loc, "rollouts", "")) == 5
    assert store.json("forget", "viking://user/b/sessions/s1", "--yes")["rollouts"] == [new[1]]
    assert store.json("forget", "viking://user/a/sessions/x", "--yes")["rollouts"] == [new[0]]
    assert store.json("forget", "s1", "--yes")["rollouts"] == sorted(session[:2])
