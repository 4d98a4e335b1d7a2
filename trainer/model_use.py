"""What a run asked its model for: calls, tokens, money, failures; in the report and in the plans' records."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from trainer.asking.chat import ChatError, greeting
from trainer.asking.prompts import prompt
from trainer.asking.question import AskError, Usage
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

    from trainer.asking.asker import ModelAsker
    from trainer.asking.question import Fault

PROMPTED = frozenset({"case", "extract", "edit", "merge", "resolve", "judge"})
"""The stages of the learner that have the prompt of their name."""
AWAY: frozenset[Fault] = frozenset({"connection", "timeout", "http"})
"""Why there is no answer, where it may be the endpoint's fault and not the question's."""
THERE = frozenset({400, 404, 422})
"""HTTP status of an endpoint that is there and does not like what it is sent."""


class StageUse(Usage):
    """What one stage used, and what went wrong in it."""

    mended: dict[str, int] = {}
    """What had to be put right, counted (`trainer.asking.budget.Budget.mended`)."""
    failures: dict[str, int] = {}
    """Why questions had no answer, counted (`trainer.asking.question.Fault`)."""


class ModelUse(Frozen):
    """What a run used."""

    name: str
    """The model's, as the endpoint knows it."""
    prompts: dict[str, int] = {}
    """The prompts that were asked with, and their versions."""
    stages: dict[str, StageUse] = {}
    total: StageUse = StageUse()
    fewest_at_once: int | None = None
    """The fewest requests that were sent at the same time, because the endpoint could not keep up; None
    where it could."""


class ModelAccount:
    """The account of one run, read from its asker."""

    def __init__(self, asker: ModelAsker) -> None:
        self._asker = asker

    def use(self) -> ModelUse:
        """Return what was used so far."""
        budget = self._asker.budget
        used, mended, faults = budget.used, budget.mended, budget.faults
        stages = sorted({*used, *(stage for stage, _ in faults)})
        return ModelUse(
            name=self._asker.model,
            prompts={stage: prompt(stage).version for stage in stages if stage in PROMPTED},
            stages={
                stage: _stage(
                    used.get(stage, Usage()),
                    [(what, n) for (s, what), n in mended.items() if s == stage],
                    [(fault, n) for (s, fault), n in faults.items() if s == stage],
                )
                for stage in stages
            },
            total=_stage(
                budget.total,
                [(what, n) for (_, what), n in mended.items()],
                [(fault, n) for (_, fault), n in faults.items()],
            ),
            fewest_at_once=budget.slots.fewest,
        )

    def as_json(self) -> dict[str, JsonValue]:
        """Return what the run has used so far, for the record of a plan: a call may serve several plans.

        Not how fast the endpoint was: a replay comes to the same record.
        """
        return self.use().model_dump(mode="json", exclude_defaults=True, exclude={"fewest_at_once"})

    async def cut_off(self) -> str:
        """Return why the endpoint is no longer there; "" where it is, or no question has failed by it.

        One rollout that an endpoint cannot bear is data; an endpoint that is gone says nothing of a rollout.
        So it is asked once more. Raises AskError `replay` where a recording did not have an answer: whoever
        replays wants the run that was recorded, and no other.
        """
        if self._asker.missed:
            raise self._asker.missed
        if not any(fault in AWAY for _, fault in self._asker.budget.faults):
            return ""
        try:
            await self._asker.converse(greeting(self._asker.model))
        except ChatError as error:
            return error.message if error.fault in AWAY and error.status not in THERE else ""
        except AskError:  # the budget is used up, or it was never recorded: nothing is known
            return ""
        return ""


def _stage(usage: Usage, mended: Iterable[tuple[str, int]], faults: Iterable[tuple[Fault, int]]) -> StageUse:
    rounded = usage.model_copy(update={"cost": round(usage.cost, 6)})
    return StageUse(**rounded.model_dump(), mended=_summed(mended), failures=_summed(faults))


def _summed(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for name, number in counts:
        found[name] += number
    return dict(sorted(found.items()))
