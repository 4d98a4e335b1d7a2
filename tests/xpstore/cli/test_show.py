from __future__ import annotations

import pytest

from tests.builders import make_plan, page, upsert
from tests.scripted import Scripted, keeping
from xpstore.applying import apply
from xpstore.commit import commit
from xpstore.evidence import EvidenceFile, rollout_file
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.location import Location
from xpstore.note import to_text
from xpstore.plan import RolloutRef
from xpstore.trajectory import Trajectory

PAGE = "## Approach\n\n- Ask first.\n"
ROLLOUTS = tuple(
    RolloutRef(id=f"{i:020x}", passed=bool(i % 2), score=i % 2, case=f"case-{i}") for i in range(10)
)


@pytest.fixture
def plan_id(store):
    loc = Location.find(store.path)
    note = Trajectory(
        name="n",
        content="",
        outcome="failure",
        retrieval_anchor="refund without asking",
        rollout=ROLLOUTS[0].id,
    )
    gradient = PatchSemanticGradient(
        before_file=None,
        after_file=MemoryFile(name="ask", content=PAGE),
        rationale="Those who asked passed.",
        evidence_trajectory_uris=(note.uri, "trajectories/00/gone.md"),
        rollouts=tuple(r.id for r in ROLLOUTS),
        confidence=0.875,
    )
    plan = make_plan(loc, upsert("ask", PAGE), gradients=(gradient,), rollouts=ROLLOUTS, subject="Ask first")
    files = [EvidenceFile(note.uri, to_text(note).encode()), rollout_file(ROLLOUTS[0].id, {"messages": []})]
    commit(loc, [plan], "train/x", extra_evidence=files)
    return plan.plan_id


def test_show_reads_like_a_review(store, plan_id):
    code, out, err = store.xp("show", plan_id[:6])
    assert (code, err) == (0, "")
    order = [
        f"commit {store.git('rev-parse', 'train/x')}",
        f"Plan:    {plan_id}",
        "    Ask first",
        "    Seen in 1 rollout",
        "diff --git a/experiences/ask.md b/experiences/ask.md",
        "+- Ask first.",
        "Lesson 1 of 1: ask (confidence 0.88)",
        "  + - Ask first.",
        "  Those who asked passed.",
        "  rollout 000000000 failed, reward 0, case case-0",
        ": refund without asking",
        "  and 2 more rollouts",
        "  trajectories/00/gone.md is not here",
    ]
    places = [out.index(text) for text in order]
    assert places == sorted(places)


@pytest.mark.parametrize("why", ["Seen.", "Why: those who asked\npassed."])
def test_what_the_message_and_the_diff_say_is_not_said_again(store, why):
    loc = Location.find(store.path)
    text = PAGE.replace("Ask first.\n", "Ask first.\n  *Support: 3 rollouts.*\n")
    gradient = PatchSemanticGradient(
        before_file=None,
        after_file=MemoryFile(name="ask", content=text),
        rationale="those who asked passed.",
        confidence=0.5,
    )
    commit(loc, [make_plan(loc, upsert("ask", text), gradients=(gradient,), rationale=why)], "train/x")
    _, out, _ = store.xp("show", "train/x")
    assert out.count("*Support: 3 rollouts.*") == 1
    assert " ".join(out.split()).count("those who asked passed.") == 1


def test_show_json(store, plan_id):
    answer = store.json("show", "train/x")
    assert answer["plans"][0]["plan_id"] == plan_id
    assert answer["diff"].startswith("diff --git")
    (lesson,) = answer["lessons"]
    assert (lesson["plan_id"], lesson["experience"], lesson["confidence"]) == (plan_id, "ask", 0.875)
    assert len(lesson["rollouts"]) == 10
    assert lesson["rollouts"][0] == {
        "id": "0" * 20,
        "passed": False,
        "score": 0,
        "case": "case-0",
        "forgotten": False,
    }
    assert [note["outcome"] for note in lesson["notes"]] == ["failure", ""]


def test_show_takes_commits_and_shows_peoples_commits_too(store):
    root = store.git("rev-list", "--max-parents=0", "main")
    code, out, _ = store.xp("show", root[:8])
    assert code == 0
    assert "    Write four pages" in out
    assert "new file mode 100644" in out
    assert "Lesson" not in out


def test_what_cannot_be_shown(store):
    (store.path / "code.py").write_text("print()\n")
    store.commit("Code")
    code, _, err = store.xp("show")
    assert code == 1
    assert "changes no experience" in err
    assert store.xp("show", "ffff")[0] == 1
    assert store.xp("show", "--", "-x")[0] == 1


def test_show_says_how_a_page_was_merged_and_by_whom(store):
    loc = Location.find(store.path)
    before = page("a", "Be short.")
    commit(loc, [make_plan(loc, upsert("a", before))], "main")
    always, never = (page("a", "Be short.", lesson) for lesson in ("Always ask.", "Never ask."))
    plan = make_plan(loc, upsert("a", never, before))
    commit(loc, [make_plan(loc, upsert("a", always, before))], "main")
    apply(loc, [plan], "main", resolver=Scripted([keeping("- Never ask.")]))
    code, out, _ = store.xp("show", "main")
    assert code == 0
    assert "Resolved-By: scripted/1" in store.git("log", "-1", "main")
    shown = out[out.index("Merged: a (VERIFIED, decided by scripted/1)") :].splitlines()
    assert shown[1:] == ["  - - Always ask.", "    the branch's, dropped: the opposite stays"]
    (merge,) = store.json("show", "main")["merges"]
    assert (merge["experience"], merge["verdict"], merge["resolved_by"]) == ("a", "VERIFIED", "scripted/1")
    assert [(f["text"], f["fate"]) for f in merge["account"]] == [
        ("- Always ask.", "dropped"),
        ("- Never ask.", "kept"),
    ]


def test_a_rollout_that_was_forgotten_says_so(store, plan_id):
    assert store.xp("forget", ROLLOUTS[0].id, "--yes")[0] == 0
    lines = store.xp("show", plan_id)[1].splitlines()
    assert [line.strip() for line in lines if line.endswith("forgotten")] == [
        "rollout 000000000 failed, reward 0, case case-0, forgotten"
    ]


def test_what_a_model_was_asked_is_told_who_asks(store):
    loc = Location.find(store.path)
    total = {"calls": 1, "prompt_tokens": 1200, "completion_tokens": 80, "cost": 0.5}
    model = {"name": "small", "prompts": {"edit": 2, "extract": 1}, "total": total}
    plan = make_plan(loc, upsert("ask", PAGE), rollouts=(), metadata={"model": model})
    commit(loc, [plan], "train/x")
    assert "small" not in store.xp("show", plan.plan_id)[1]
    lines = store.xp("show", "-v", plan.plan_id)[1].splitlines()
    assert lines[-2:] == [
        "Model: small, prompts edit/2, extract/1",
        "  1 call by the run until then, 1,200 tokens sent, 80 written, cost 0.5000",
    ]
    (asked,) = store.json("show", plan.plan_id)["asked"]
    assert (asked["name"], asked["calls"]) == ("small", 1)
