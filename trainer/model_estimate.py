"""What training with a model would ask for, before anything is asked: `xp train --dry-run`.

Calls are at most so many, where every answer is right at once; one that is asked for again comes on top.
Tokens are estimated from what would be sent and, of what is written, from what answers usually have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.asking.budget import Budget, tokens_of
from trainer.asking.prompts import prompt
from trainer.llm_learner.judge import AT_ONCE
from trainer.llm_learner.transcript import transcript
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.domain import Rollout
    from xpstore.experience import ExperienceSet
    from xpstore.settings import LlmSettings

FORM_TOKENS = 600
"""Of the schema that goes with a question."""
ANSWER_TOKENS = 500
"""That an answer usually has."""
PAGES_SHOWN = 5
"""The most similar pages that an edit is shown."""


class ModelEstimate(Frozen):
    """What a run would ask for."""

    name: str
    """The model's."""
    rollouts: int
    """That would be read."""
    calls: int
    """At most."""
    prompt_tokens: int
    completion_tokens: int
    cost: float
    """In the currency of the prices in xp.toml; 0 where it has none."""


def bound(settings: LlmSettings, rollouts: int, groups: int) -> ModelEstimate:
    """Return what rollouts that are still to be made would ask for at most, each as long as may be.

    `groups` is how many calls edit pages: one for the attempts at each case.
    """
    calls = calls_for(settings, rollouts, groups)
    return _estimate(settings, rollouts, calls, calls * settings.context_tokens)


def calls_for(settings: LlmSettings, rollouts: int, groups: int) -> int:
    """Return how many calls read so many rollouts, edit pages for so many groups, and merge the edits."""
    return rollouts + groups + _merges(rollouts, settings)


def estimate(settings: LlmSettings, rollouts: Sequence[Rollout], policy_set: ExperienceSet) -> ModelEstimate:
    """Return what reading these rollouts would ask for, with the experiences as they are now."""
    room = settings.context_tokens
    seen = {rollout.id: tokens_of(transcript(rollout.messages, room).text) for rollout in rollouts}
    judged = {r.id: -(-len(r.case.rubric.criteria) // AT_ONCE) for r in rollouts if r.evaluation is None}
    groups = len({rollout.case.id for rollout in rollouts})
    pages = sum(sorted((tokens_of(p.text) for p in policy_set.policies), reverse=True)[:PAGES_SHOWN])
    merges = _merges(len(rollouts), settings)
    sent = (
        sum(tokens + _fixed("extract") for tokens in seen.values())
        + sum(calls * (seen[rollout] + _fixed("judge")) for rollout, calls in judged.items())
        + groups * _fixed("edit")
        + min(groups * room, len(rollouts) * ANSWER_TOKENS + groups * pages)
        + merges * (_fixed("merge") + min(room, settings.max_gradients * ANSWER_TOKENS + pages))
    )
    calls = calls_for(settings, len(rollouts), groups) + sum(judged.values())
    return _estimate(settings, len(rollouts), calls, sent)


def _estimate(settings: LlmSettings, rollouts: int, calls: int, sent: int) -> ModelEstimate:
    written = calls * ANSWER_TOKENS
    return ModelEstimate(
        name=settings.model,
        rollouts=rollouts,
        calls=calls,
        prompt_tokens=sent,
        completion_tokens=written,
        cost=round(Budget(settings).cost(sent, written), 4),
    )


def _merges(rollouts: int, settings: LlmSettings) -> int:
    return 2 * -(-rollouts // settings.max_gradients)


def _fixed(name: str) -> int:
    return tokens_of(prompt(name).system) + FORM_TOKENS
