"""An order desk that knows its company's policy, with updates that change nothing, and one that does harm."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from trainer.context import ExecutionContext
from trainer.environments.order_desk import make, suites
from xpstore.experience import Experience, ExperienceSet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SEED = 7
SLIP_RATE = 0.15
CUSTOMER = "the `customer_id` of `order_id`"
LESSONS = {
    "cancel-order": (
        f"Do not call `cancel_order` when the age in days of the `joined_at` of {CUSTOMER} is at most 500.",
        "After you call `cancel_order`, call `notify_customer`.",
    ),
    "exchange-item": (
        "Do not call `exchange_item` when the `category` of `item_id` is `clothing`.",
        "Call `check_fraud` before you call `exchange_item`.",
    ),
    "grant-discount": (
        f"Do not call `grant_discount` when the `tier` of {CUSTOMER} is `basic`.",
        "Do not call `grant_discount` when the argument `form` is `percentage`.",
    ),
    "redirect-order": (
        "Do not call `redirect_order` when the `warehouse` of `order_id` is `west`.",
        "Do not call `redirect_order` when the argument `place` is `home`.",
    ),
    "refund-order": (f"Do not call `refund_order` when the `open_claims` of {CUSTOMER} is at most 1.",),
    "upgrade-delivery": (
        "Do not call `upgrade_delivery` when the `status` of `order_id` is `packed`.",
        "Call `check_stock` before you call `upgrade_delivery`.",
        "After you call `upgrade_delivery`, call `notify_warehouse`.",
    ),
}
"""Page → what the policy of SEED wants of its tool."""
LIMITS = {"cancel-order": 20, "exchange-item": 20, "redirect-order": 150, "upgrade-delivery": 20}
HARM = {
    page: f"Do not call `{page.replace('-', '_')}` when the `total` of `order_id` is more than {limit}."
    for page, limit in LIMITS.items()
}
"""Page → a lesson that is wrong; together they cost 20 points of the gate suite."""
ADVICE = ("Say what happens next", "Thank the customer", "Name the order", "Be brief", "Do not promise a day")


def text_of(page: str, lessons: Sequence[str]) -> str:
    """Return a page with these statements."""
    tool = page.replace("-", "_")
    items = "".join(f"- {lesson}\n" for lesson in lessons)
    head = f"name: {page}\ndescription: When to call `{tool}`, and when not to. Read it before."
    return f"---\n{head}\nstatus: production\n---\n\n## Approach\n\n{items}"


def pages_of(lessons: Mapping[str, Sequence[str]]) -> ExperienceSet:
    """Return a policy of these pages."""
    made = (Experience(name=name, text=text_of(name, found)) for name, found in sorted(lessons.items()))
    return ExperienceSet(root_uri="experiences", policies=tuple(made), snapshot_id="desk")


def updated(number: int) -> tuple[str, str]:
    """Return page and statement of an update that is for people."""
    page = sorted(LESSONS)[number % len(LESSONS)]
    return page, f"{ADVICE[number % len(ADVICE)]}, as agreed in round {number}."


def history(updates: int, culprit: int) -> list[dict[str, list[str]]]:
    """Return the lessons of every page at each state; update `culprit`, from 1, does the harm, too."""
    now = {page: list(lessons) for page, lessons in LESSONS.items()}
    states = [now]
    for number in range(1, updates + 1):
        now = {page: list(lessons) for page, lessons in now.items()}
        page, statement = updated(number)
        now[page].append(statement)
        for harmed, lesson in HARM.items() if number == culprit else ():
            now[harmed].append(lesson)
        states.append(now)
    return states


def pass_rates(pages: ExperienceSet, suite: str, trials: int) -> list[float]:
    """Return how often each case of a suite passes at the desk."""
    executor = make({"seed": SEED, "slip_rate": SLIP_RATE}).executor()
    cases = suites(SEED)[suite]
    passed: Counter[str] = Counter()

    async def run() -> None:
        for trial in range(trials):
            context = ExecutionContext(policy_snapshot_id="desk", seed=2 * trial, training=False)
            for rollout in await executor.execute(cases, pages, context):
                passed[rollout.case.id] += bool(rollout.evaluation and rollout.evaluation.passed)

    asyncio.run(run())
    return [passed[case.id] / trials for case in cases]
