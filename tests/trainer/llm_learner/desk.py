"""Trials of one case, with notes, for the tests of what a model makes of them."""

from __future__ import annotations

import asyncio

from tests.trainer.llm_learner.talk import Chat, asker, call, say
from trainer.context import ExperienceGradientContext, LearnedHistory
from trainer.domain import Case, EditResult, Rollout, RolloutAnalysis, Rubric, RubricEvaluation
from trainer.llm_learner.editor import LLMEditor
from xpstore.document import Document
from xpstore.experience import Experience, ExperienceSet
from xpstore.trajectory import Trajectory

RULE = "Do not call `cancel_order` when the `status` of `order_id` is `shipped`."
OPPOSITE = "Do call `cancel_order` when the `status` of `order_id` is `shipped`."


def trial(
    number: int, *, passed: bool, said: str = "Please cancel order O17.", notes: bool = True
) -> RolloutAnalysis:
    rollout = Rollout(
        case=Case(name="cancel-17", rubric=Rubric(name="r")),
        messages=(
            say("user", said),
            call("get_order", {"order_id": "O17"}, '{"order_id": "O17", "status": "shipped"}'),
            *([] if passed else [call("cancel_order", {"order_id": "O17"}, '{"status": "cancelled"}')]),
        ),
        metadata={"trial": number},
    )
    note = Trajectory(
        name="cancel",
        content=f"## Asked\n\nCancel an order, trial {number}.\n",
        outcome="success" if passed else "failure",
        retrieval_anchor="cancel an order that is shipped",
        rollout=rollout.id,
    )
    return RolloutAnalysis(
        rollout=rollout,
        evaluation=RubricEvaluation(passed=passed, score=float(passed)),
        trajectories=(note,) if notes else (),
        nothing="" if notes else "nobody spoke",
    )


TRIALS = tuple(sorted((trial(n, passed=n > 1) for n in range(3)), key=lambda a: a.trajectories[0].content))
BY_NUMBER = dict(enumerate(TRIALS, 1))
FAILED = [n for n, a in BY_NUMBER.items() if not a.evaluation.passed]
PASSED = [n for n, a in BY_NUMBER.items() if a.evaluation.passed]


def edit(**fields: object) -> dict:
    return {
        "trials": FAILED,
        "rationale": "Those that cancelled what was shipped failed.",
        "action": "create",
        "page": 0,
        "statement": 0,
        "name": "cancel-order",
        "when": "The user wants to cancel an order.",
        "section": "Reflect",
        "text": RULE,
        "confidence": 5,
        **fields,
    }


def edits(*found: dict, nothing: str = "") -> dict:
    return {"edits": list(found), "nothing": nothing}


def pages(*texts: tuple[str, str]) -> ExperienceSet:
    return ExperienceSet(root_uri="experiences", policies=tuple(Experience(name=n, text=t) for n, t in texts))


def propose(
    *answers: object,
    trials: tuple[RolloutAnalysis, ...] = TRIALS,
    policies: ExperienceSet | None = None,
    tokens: int = 16_000,
    **history: object,
) -> tuple[EditResult, Chat]:
    chat = Chat(list(answers))
    context = ExperienceGradientContext(history=LearnedHistory(**history))
    editor = LLMEditor(asker(chat), context_tokens=tokens)
    return asyncio.run(editor.edit(trials, policies or pages(), context)), chat


def keys(text: str) -> list[str]:
    return [s.key for s in Document.parse(text).statements()]
