from __future__ import annotations

import pytest

from tests.builders import make_plan, upsert
from xpstore.cli import output
from xpstore.commit import commit
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.location import Location
from xpstore.plan import RolloutRef

ROLLOUT = "0a" * 10


@pytest.fixture
def taught(store) -> str:
    """A plan on main that adds a line to a page that Ann wrote, and then rewords it; the second commit."""
    loc = Location.find(store.path)
    sha = ""
    for line in ("Ask for the reason of it.", "Ask for the reason of it twice."):
        before = (store.path / "experiences" / "refund-item.md").read_text()
        after = before.replace("- Ask for the reason of it.\n", "") + f"- {line}\n"
        gradient = PatchSemanticGradient(
            before_file=MemoryFile(name="refund-item", content=before),
            after_file=MemoryFile(name="refund-item", content=after),
            rationale="Those who asked passed.",
            evidence_trajectory_uris=("trajectories/00/gone.md",),
            rollouts=(ROLLOUT,),
            confidence=0.75,
        )
        seen = RolloutRef(id=ROLLOUT, passed=False, score=0.5, case="broken lamp")
        plan = make_plan(
            loc, upsert("refund-item", after, before), gradients=(gradient,), rollouts=(seen,), subject=line
        )
        sha = commit(loc, [plan], "main")[0].commit
    return sha


def test_it_reads_like_git_blame(store, taught):
    code, out, err = store.xp("blame", "refund-item")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    ann = store.git("rev-parse", "HEAD~2")
    day = store.git("log", "-1", "--format=%cs")
    assert lines[0] == f"{ann[:9]} (Ann       {day} 1) ---"
    assert lines[-1] == f"{taught[:9]} (offline/1 {day} 9) - Ask for the reason of it twice."
    assert len(lines) == 9
    assert len(store.xp("blame", "refund-item", "HEAD~1")[1].splitlines()) == 9


def test_the_evidence_stands_below_each_statement(store, taught):
    first = store.git("rev-parse", "HEAD~1")
    out = store.xp("blame", "-v", "refund-item")[1]
    below = [line.strip() for line in out.partition("twice.\n")[2].splitlines()]
    assert [line.partition(" ")[0] for line in below] == [
        *("plan", "rollout", "trajectories/00/gone.md"),
        *("before", "-"),
        *("plan", "rollout", "trajectories/00/gone.md"),
    ]
    assert "confidence 0.75: Ask for the reason of it twice." in below[0]
    assert below[1] == f"rollout {ROLLOUT[:9]} failed, reward 0.5, case broken lamp"
    assert below[3:5] == [f"before that, by offline/1 in {first[:9]}:", "- Ask for the reason of it."]
    assert taught[:9] in out


def test_json(store, taught):
    answer = store.json("blame", "refund-item")
    assert (answer["experience"], answer["ref"], answer["commit"]) == ("refund-item", "HEAD", taught)
    person, line = answer["lines"][7], answer["lines"][8]
    assert (person["author"], person["learner"], person["plans"], person["lessons"]) == ("Ann", "", [], [])
    assert (line["line"], line["text"], line["commit"]) == (9, "- Ask for the reason of it twice.", taught)
    assert line["date"].endswith("Z")
    assert len(line["plans"]) == 1
    (lesson,) = line["lessons"]
    rollout = {"id": ROLLOUT, "passed": False, "score": 0.5, "case": "broken lamp", "forgotten": False}
    assert lesson["rollouts"] == [rollout]
    assert lesson["notes"][0]["uri"] == "trajectories/00/gone.md"
    told = answer["statements"][-1]
    assert (told["first"], told["last"], told["section"]) == (9, 9, "Approach")
    assert [o["text"] for o in told["history"]] == [
        "- Ask for the reason of it twice.",
        "- Ask for the reason of it.",
    ]


@pytest.mark.usefixtures("taught")
def test_colours_and_columns_on_a_terminal(store, monkeypatch):
    store.git("commit", "-q", "--amend", "--no-edit", "--author=龙龙 \x1b[2J <x@example.org>")
    monkeypatch.setattr(output, "to_terminal", lambda: True)
    out = store.xp("blame", "refund-item")[1]
    assert "\x1b[2J" not in out
    assert "\x1b[33m" in out


@pytest.mark.parametrize(
    ("args", "code"),
    [(["nobody"], 1), (["refund-item", "nowhere"], 1), (["--", "--version"], 2), (["../x"], 2), ([], 2)],
)
def test_wrong_arguments(store, args, code):
    assert store.xp("blame", *args)[0] == code
