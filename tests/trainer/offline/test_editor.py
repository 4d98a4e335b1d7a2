from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.trainer.offline.world import rollout, shop
from trainer.context import ExperienceGradientContext, LearnedHistory, UndoneStatement
from trainer.domain import EditResult, RolloutAnalysis
from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor
from xpstore.document import Document
from xpstore.experience import Experience, ExperienceSet
from xpstore.merge import merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.domain import Rollout
    from xpstore.gradient import PatchSemanticGradient

RULE = "Do not call `cancel_order` when the age in days of the `created_at` of `order_id` is more than 30."


def analysed(rollouts: Sequence[Rollout]) -> list[RolloutAnalysis]:
    async def one(r: Rollout) -> RolloutAnalysis:
        assert r.evaluation is not None
        notes = await OfflineExtractor().extract(r, r.evaluation)
        return RolloutAnalysis(rollout=r, evaluation=r.evaluation, trajectories=tuple(notes))

    async def all_of_them() -> list[RolloutAnalysis]:
        return [await one(r) for r in rollouts]

    return asyncio.run(all_of_them())


@pytest.fixture(scope="module")
def evidence() -> list[RolloutAnalysis]:
    return analysed(shop(24, 6))


def pages(*texts: tuple[str, str]) -> ExperienceSet:
    return ExperienceSet(root_uri="experiences", policies=tuple(Experience(name=n, text=t) for n, t in texts))


def edit(
    evidence: Sequence[RolloutAnalysis], policies: ExperienceSet | None = None, **history: object
) -> EditResult:
    context = ExperienceGradientContext(history=LearnedHistory(**history))  # type: ignore[arg-type]
    return asyncio.run(OfflineEditor().edit(evidence, policies or pages(), context))


def after(gradient: PatchSemanticGradient) -> str:
    assert gradient.after_file is not None
    return gradient.after_file.content


def keys(text: str) -> frozenset[str]:
    return frozenset(s.key for s in Document.parse(text).statements())


def test_a_new_lesson_is_a_gradient_of_its_own(evidence: list[RolloutAnalysis]) -> None:
    found = edit(evidence)
    (gradient,) = found.gradients
    assert (gradient.before_file, gradient.target_experience_name) == (None, "cancel-order")
    assert RULE in keys(after(gradient))
    assert set(gradient.rollouts) <= {a.rollout.id for a in evidence}
    assert len(gradient.evidence_trajectory_uris) == len(gradient.rollouts)
    assert gradient.metadata["family"] == "decision"
    assert found.report["candidates"]
    assert set(found.nothing).isdisjoint(gradient.rollouts)
    assert set(found.nothing) | set(gradient.rollouts) == {a.rollout.id for a in evidence}


def test_a_second_run_changes_nothing(evidence: list[RolloutAnalysis]) -> None:
    page = after(edit(evidence).gradients[0])
    again = edit(
        evidence[::-1], pages(("cancel-order", page)), learner_statements={"cancel-order": keys(page)}
    )
    assert again.gradients == ()
    assert "what it shows stands in the experiences already" in again.nothing.values()


def test_batches_end_with_the_same_bytes(evidence: list[RolloutAnalysis]) -> None:
    whole = after(edit(evidence).gradients[0])
    text: str | None = None
    for end in (60, 100, len(evidence)):
        policies = pages() if text is None else pages(("cancel-order", text))
        mine = {"cancel-order": keys(text)} if text else {}
        base = text
        for gradient in edit(evidence[:end], policies, learner_statements=mine).gradients:
            content = gradient.after_file.content if gradient.after_file else None
            text = merge(base, text, content).text if base or text else content
    assert text == whole


def test_statements_of_people_are_never_touched(evidence: list[RolloutAnalysis]) -> None:
    page = f"---\nname: cancel-order # mine\n---\n\n## Reflect\n\n- Be kind.\n- {RULE}\n"
    assert edit(evidence, pages(("cancel-order", page))).gradients == ()
    other = page.replace(f"- {RULE}\n", "")
    (gradient,) = edit(evidence, pages(("cancel-order", other))).gradients
    assert "# mine" in after(gradient)
    assert keys(after(gradient)) == {"Be kind.", RULE}


def test_a_lesson_that_contradicts_a_person_stays_away(evidence: list[RolloutAnalysis]) -> None:
    """Two opposite commands in one page help nobody; the person's word wins."""
    page = after(edit(evidence).gradients[0])
    opposite = RULE.replace("Do not call", "Call")
    edited = page.replace(RULE, opposite)
    found = edit(evidence, pages(("cancel-order", edited)), learner_statements={"cancel-order": keys(page)})
    assert found.gradients == ()
    assert found.report["opposed"] == [f"cancel-order: {RULE}"]
    assert found.report["dropped"]["decision"]["contradicts what a person wrote"] == 1  # type: ignore[index,call-overload]
    assert "the lesson that it supports contradicts what a person wrote" in found.nothing.values()


def test_a_lesson_that_no_longer_holds_is_removed(evidence: list[RolloutAnalysis]) -> None:
    stale = "Do not call `cancel_order` twice for the same `order_id`."
    page = after(edit(evidence).gradients[0]).replace("## Reflect\n\n", f"## Reflect\n\n- {stale}\n")
    (gradient,) = edit(
        evidence, pages(("cancel-order", page)), learner_statements={"cancel-order": keys(page)}
    ).gradients
    assert keys(page) - keys(after(gradient)) == {stale}
    assert gradient.metadata["removed"] == [stale]


def test_a_page_without_a_lesson_is_deleted(evidence: list[RolloutAnalysis]) -> None:
    page = after(edit(evidence).gradients[0])
    (gradient,) = edit(
        evidence[:6], pages(("cancel-order", page)), learner_statements={"cancel-order": keys(page)}
    ).gradients
    assert gradient.after_file is None


def test_what_was_undone_stays_undone_until_others_teach_it(evidence: list[RolloutAnalysis]) -> None:
    cited = frozenset(edit(evidence).gradients[0].rollouts)
    undone = UndoneStatement(experience="cancel-order", key=RULE, rollouts=cited)
    found = edit(evidence, undone=(undone,))
    assert found.gradients == ()
    assert found.report["undone"] == [f"cancel-order: {RULE}"]
    more = [*evidence, *analysed(shop(24, 6, seed=5, name="other"))]
    assert [g.target_experience_name for g in edit(more, undone=(undone,)).gradients] == ["cancel-order"]


def test_every_rollout_without_a_lesson_has_a_reason() -> None:
    found = edit(analysed([rollout([], case="empty"), *shop(3, 2)]))
    assert found.gradients == ()
    assert len(found.nothing) == 7
    assert "it has no messages" in found.nothing.values()
