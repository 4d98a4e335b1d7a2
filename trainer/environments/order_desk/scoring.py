"""How a rollout came out: the final database and the calls against the company's policy.

What was expected is computed here, at scoring time, and goes nowhere else. Feedback says what was observed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.domain import CriterionResult
from trainer.environments.order_desk.catalogue import CHANGES, RECORDS
from trainer.environments.order_desk.database import KEYS, OPEN
from trainer.rubric import evaluate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from trainer.domain import Case, RubricEvaluation
    from trainer.environments.order_desk.database import Shop, World
    from trainer.environments.order_desk.policy import Policy
    from trainer.environments.order_desk.rules import Rows
    from trainer.environments.order_desk.tools import Done


@dataclass(frozen=True, slots=True)
class Ending:
    """What there is to score."""

    wish: Mapping[str, str]
    rows: Rows
    """Table → the row that the request is about, as it was at the beginning."""
    changes: Mapping[tuple[str, str, str], str]
    records: frozenset[str]
    """Kinds of records that the order has at the end."""
    calls: Sequence[Done]
    """The accepted calls, in order."""

    @property
    def tool(self) -> str:
        """The tool that does what was asked for."""
        return self.wish["change"]

    @property
    def place(self) -> tuple[str, str, str]:
        """The column that changes when the wish is fulfilled."""
        change = CHANGES[self.tool]
        return change.table, str(self.rows[change.table][KEYS[change.table]]), change.column


def rows_of(world: World, wish: Mapping[str, str]) -> Rows:
    """Return the rows that a wish is about: its order, its item, the order's customer and payment."""
    order = next(r for r in world["orders"] if r["order_id"] == wish["order_id"])
    return {
        "orders": order,
        "customers": next(r for r in world["customers"] if r["customer_id"] == order["customer_id"]),
        "payments": next(r for r in world["payments"] if r["payment_id"] == order["payment_id"]),
        "items": next(
            r for r in world["items"] if r["item_id"] == wish.get("item_id", world["items"][0]["item_id"])
        ),
    }


def ending(shop: Shop, world: World, wish: Mapping[str, str], calls: Sequence[Done]) -> Ending:
    """Return what there is to score of a finished rollout."""
    records = frozenset(str(r["kind"]) for r in shop.where("records", "order_id", wish["order_id"]))
    return Ending(wish, rows_of(world, wish), shop.changes(), records, calls)


def score(case: Case, policy: Policy, end: Ending) -> RubricEvaluation:
    """Return the evaluation of a finished rollout."""
    observed = {
        "decision": _decision(policy, end),
        "terms": _terms(policy, end),
        "preparation": _preparation(policy, end),
        "follow-up": _follow_up(policy, end),
    }
    results = [
        CriterionResult(criterion_name=name, passed=not lines, score=float(not lines), feedback=tuple(lines))
        for name, lines in observed.items()
    ]
    return evaluate(case.rubric, results)


def _decision(policy: Policy, end: Ending) -> list[str]:
    wanted = not any(rule.holds(end.rows) for rule in policy.forbidden(end.tool))
    lines = [
        f"database: {column} of {key} in {table} is {value}, which was not expected"
        for (table, key, column), value in end.changes.items()
        if not wanted or (table, key, column) != end.place
    ]
    if wanted and end.place not in end.changes:
        table, key, column = end.place
        lines.append(f"database: {column} of {key} in {table} is {OPEN}, which was not expected")
    return lines


def _terms(policy: Policy, end: Ending) -> list[str]:
    value = end.changes.get(end.place)
    if value is None or value not in policy.unwanted(end.tool):
        return []
    table, key, column = end.place
    return [f"database: {column} of {key} in {table} is {value}, which is not accepted"]


def _preparation(policy: Policy, end: Ending) -> list[str]:
    tools = [call.tool for call in end.calls]
    if end.tool not in tools:
        return []
    missing = policy.before(end.tool) - set(tools[: tools.index(end.tool)])
    return [f"{end.tool} was called, and something was missing before it"] if missing else []


def _follow_up(policy: Policy, end: Ending) -> list[str]:
    if end.place not in end.changes:
        return []
    missing = {RECORDS[tool].kind for tool in policy.after(end.tool)} - end.records
    return ["database: a record of the change is missing"] if missing else []
