"""A model merges, over HTTP and into a real repository: what it may, with its name on record."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, make_plan, make_store, page, texts, upsert
from tests.llm_answers_merge import merge, resolve
from trainer.asking.open import open_asker
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_updater import GitPolicyUpdater
from trainer.context import ApplyContext, PatchMergePolicyOptimizerContext
from trainer.llm_learner.merger import LlmMerger
from trainer.llm_learner.resolver import LLMResolver
from trainer.store_door import StoreDoor
from xpstore import applying, kept, record
from xpstore.commit import commit
from xpstore.errors import ConflictError
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.landing import land
from xpstore.resolution import Asking
from xpstore.settings import LlmSettings
from xpstore.snapshot import snapshot
from xpstore.verify import verify

if TYPE_CHECKING:
    from tests.llm_server import LlmServer
    from xpstore.location import Location

FIRST = page("a", "Be short.")
ALWAYS, NEVER = (page("a", "Be short.", f"{word} call `refund_order` first.") for word in ("Always", "Never"))
NAME = "llm/1+scripted"


@pytest.fixture
def loc(tmp_path) -> Location:
    found = make_store(tmp_path / "s")
    commit(found, [make_plan(found, upsert("a", FIRST), rollouts=())], "main")
    return found


def resolver(server: LlmServer) -> LLMResolver:
    settings = LlmSettings(model="scripted", base_url=server.url)
    return LLMResolver.alone(lambda: open_asker(settings), "scripted")


def outrun(loc: Location):
    """Return a plan that says the opposite of what main says by now."""
    plan = make_plan(loc, upsert("a", NEVER, FIRST), rollouts=())
    commit(loc, [make_plan(loc, upsert("a", ALWAYS, FIRST), rollouts=())], "main")
    return plan


def is_sound(loc: Location, branch: str = "main") -> bool:
    fsck(loc.repo.place)
    return {f.problems for f in verify(loc, branch)} == {()}


def test_a_true_conflict_is_decided_and_the_record_says_by_whom(loc, llm_server):
    llm_server.on("resolve", resolve)
    plan = outrun(loc)
    (landed,) = applying.apply(loc, [plan], "main", resolver=resolver(llm_server))
    assert texts(loc, "main") == {"a": NEVER}
    read = record.plan_from(loc, landed.commit)
    assert (read.plan_id, read.resolved_by) == (plan.plan_id, NAME)
    ((merged,), (decided,)) = read.merges, {m.resolved_by for m in read.merges}
    assert (merged.verdict, decided) == ("VERIFIED", NAME)
    assert [e.fate for e in merged.account if e.number] == ["dropped", "kept"]
    assert f"Resolved-By: {NAME}" in loc.repo.commit(landed.commit).message
    assert llm_server.counts["resolve"] == 1
    assert is_sound(loc)


def test_a_landing_asks_the_model_too(loc, llm_server):
    llm_server.on("resolve", resolve)
    commit(loc, [make_plan(loc, upsert("a", NEVER, FIRST), rollouts=())], "train/x")
    commit(loc, [make_plan(loc, upsert("a", ALWAYS, FIRST), rollouts=())], "main")
    land(loc, "train/x", merge_page=Asking(resolver(llm_server)))
    assert texts(loc, "main") == {"a": NEVER}
    assert is_sound(loc)


BOTH_DROPPED = {
    "unclear": "",
    "hunks": [{"wordings": [], "stands": []}],
    "account": [{"number": n, "fate": "dropped", "into": 0, "reason": "they disagree"} for n in (1, 2)],
}
INVENTED = {
    "unclear": "",
    "hunks": [
        {"wordings": [{"number": 100, "text": "- Call `refund_order` for order 48151."}], "stands": [100]}
    ],
    "account": [{"number": n, "fate": "merged", "into": 100, "reason": ""} for n in (1, 2)],
}


@pytest.mark.parametrize("wrong", [BOTH_DROPPED, INVENTED], ids=["lossy", "invented id"])
def test_what_is_refused_twice_is_kept_for_a_person(loc, llm_server, wrong):
    llm_server.on("resolve", wrong)
    plan = outrun(loc)
    before = git(loc.repo.place, "rev-parse", "main")
    with pytest.raises(ConflictError) as caught:
        applying.apply(loc, [plan], "main", resolver=resolver(llm_server))
    assert llm_server.counts["resolve"] == 2
    assert "An answer before this one was refused" in llm_server.of("resolve")[1].content
    assert caught.value.kept == kept.waiting(loc) == (f"xp/conflict/{plan.plan_id}",)
    assert git(loc.repo.place, "rev-parse", "main") == before
    assert is_sound(loc, kept.waiting(loc)[0])


ZIP = "Ask for the order number and the zip code before you cancel."
SEATS = "Window seats are free of charge for gold members on long flights."


def gradient(loc: Location, name: str, before: str | None, after: str) -> PatchSemanticGradient:
    return PatchSemanticGradient(
        before_file=MemoryFile(name=name, content=before) if before else None,
        after_file=MemoryFile(name=name, content=after),
        base_commit=loc.tip_of(loc.main_ref),
        rationale="It went wrong without.",
        confidence=0.6,
    )


def learn(loc: Location, server: LlmServer, *gradients: PatchSemanticGradient):
    """Plan the gradients with a model and apply the plan to `train/x`; return plan and result."""
    settings = LlmSettings(model="scripted", base_url=server.url)

    async def run():
        there = snapshot(loc, "main")
        async with open_asker(settings) as asker, StoreDoor(loc.repo.place) as door:
            optimizer = PatchMergePolicyOptimizer(LlmMerger(asker))
            plan = await optimizer.plan(gradients, there, PatchMergePolicyOptimizerContext(run_id="r"))
            learned = plan.model_copy(update={"learner": NAME})
            return plan, await GitPolicyUpdater(door).apply(learned, there, ApplyContext(branch="train/x"))

    return asyncio.run(run())


def test_edits_that_meet_are_merged_and_the_plans_are_intact(loc, llm_server):
    llm_server.on("merge", merge)
    plan, result = learn(
        loc,
        llm_server,
        gradient(loc, "a", FIRST, page("a", "Be short.", ZIP)),
        gradient(loc, "a", FIRST, page("a", "Be short.", f"{ZIP[:-1]} anything.")),
        gradient(loc, "seats", None, page("seats", SEATS)),
    )
    assert llm_server.counts["merge"] == 1
    assert "fallbacks" not in plan.metadata
    assert texts(loc, "train/x") == {
        "a": page("a", "Be short.", f"{ZIP[:-1]} anything."),
        "seats": page("seats", SEATS),
    }
    assert len(result.commits) == 2
    assert is_sound(loc, "train/x")


def change(page_: str, what: str, name: str = "", description: str = "") -> dict[str, str]:
    return {"page": page_, "change": what, "name": name, "description": description}


def fate(number: int, what: str = "kept", into: int = 0, page_: str = "") -> dict[str, object]:
    return {"number": number, "fate": what, "into": into, "page": page_, "reason": ""}


def test_pages_are_united_split_and_renamed_in_one_commit_each_and_it_verifies(loc, llm_server):
    other = page("b", ZIP, SEATS)
    commit(loc, [make_plan(loc, upsert("b", other), rollouts=())], "main")
    edits = [
        gradient(loc, "a", FIRST, page("a", "Be short.", ZIP)),
        gradient(loc, "a", FIRST, page("a", "Be short.", "Read the bill twice.")),
    ]
    # a: 1 Be short, 2 ZIP, 3 bill; b: 4 ZIP, 5 SEATS
    answer = {
        "account": [fate(2), fate(3, page_="bills"), fate(4, "merged", 2), fate(5, page_="a")],
        "wordings": [],
        "pages": [
            change("a", "renamed", "desk"),
            change("b", "deleted"),
            change("bills", "new", "", "Before you talk about a bill."),
        ],
    }
    llm_server.on("merge", answer)
    plan, result = learn(loc, llm_server, *edits)
    assert "fallbacks" not in plan.metadata
    found = texts(loc, "train/x")
    assert sorted(found) == ["bills", "desk"]
    assert [line for line in found["desk"].split("\n") if line[:1] == "-"][2:] == [
        "- Be short.",
        f"- {ZIP}",
        f"- {SEATS}",
    ]
    assert "Read the bill twice." in found["bills"]
    (commit_id,) = result.commits
    read = record.plan_from(loc, commit_id)
    assert {i.target_experience_name: i.kind.split("_")[0] for i in read.items} == {
        "a": "delete",
        "b": "delete",
        "bills": "upsert",
        "desk": "upsert",
    }
    assert {g.id for g in read.gradients} == {g.id for g in edits}
    (rows,) = [i.metadata["account"] for i in read.items if "account" in i.metadata]
    assert {row["text"]: row["fate"] for row in rows}[f"- {ZIP}"] == "merged"
    assert is_sound(loc, "train/x")


def test_a_lossy_answer_is_asked_for_again_and_then_merged_by_rule(loc, llm_server):
    llm_server.on("merge", {"account": [fate(2)], "wordings": [], "pages": []})
    plan, _ = learn(
        loc,
        llm_server,
        gradient(loc, "a", FIRST, page("a", "Be short.", ZIP)),
        gradient(loc, "a", FIRST, page("a", "Be short.", SEATS)),
    )
    assert llm_server.counts["merge"] == 2
    assert "nothing is said about" in plan.metadata["fallbacks"]["a"]
    assert texts(loc, "train/x")["a"] == page("a", "Be short.", ZIP, SEATS)
    assert is_sound(loc, "train/x")
