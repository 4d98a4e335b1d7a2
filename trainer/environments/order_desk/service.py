"""The order desk as a service offers it: `xp env serve order-desk`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from trainer.env_kit.served import ServedEnvironment
from trainer.environments.order_desk.cases import suites
from trainer.environments.order_desk.desk import OrderDesk, make
from xpstore.errors import UsageError
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from trainer.domain import Case
    from trainer.env_kit.runtime import CaseQuery

CASE_INPUT = ("now", "request", "wish", "world")
"""What a case of the desk is made of; none of it says how the case is to come out."""


def make_runtime(**options: JsonValue) -> ServedEnvironment:
    """Return the runtime; options as `[environment.options]` has them.

    Raises TypeError and ValueError for others, UsageError where an agent needs a model and nobody names it.
    """
    desk = make(options).with_model(LlmSettings())
    return ServedEnvironment(desk, _Cases(desk), CASE_INPUT)


class _Cases:
    """The desk's own cases: those of its seed, by suite."""

    def __init__(self, desk: OrderDesk) -> None:
        self._suites = cache(lambda: suites(desk.seed))

    def __call__(self, query: CaseQuery) -> Sequence[Case]:
        found = self._suites()
        if query.split and query.split not in found:
            raise UsageError(f"there is no split {query.split!r}", hint=f"there are {', '.join(found)}")
        for what, value in (("dataset", query.dataset), ("domain", query.domain)):
            if value not in {"", "order-desk"}:
                raise UsageError(f"there is no {what} {value!r} here, only 'order-desk'")
        if query.filters:
            raise UsageError("the order desk has no filters")
        return [case for name, cases in found.items() if query.split in {"", name} for case in cases]
