"""Cases from a seed: who asks for what, and the rows of the shop that the request needs.

A case holds no rule and no expected action; it runs by itself wherever the environment has its seed. No two
cases of a seed share a customer, an order or the combination of their drawn fields.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from trainer.domain import Case, Rubric, RubricCriterion
from trainer.environments.order_desk.catalogue import CHANGES
from trainer.environments.order_desk.fields import NOW, draw_row
from trainer.environments.order_desk.requests import write_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pydantic import JsonValue

    from trainer.environments.order_desk.fields import Value

SIZES = {"train": 84, "gate": 24, "test": 42}
"""Suite → number of cases: as many for each of the six kinds of request."""
CRITERIA = {
    "decision": "What changes in the database is what the company wants changed, and nothing else.",
    "terms": "What is changed is changed in a way that the company accepts.",
    "preparation": "Nothing is changed before the company's preparations were made.",
    "follow-up": "The records that the company wants of a change are in the database.",
}
"""Criterion → what it says; all are required."""
RUBRIC = Rubric(
    name="order desk",
    description="The request is handled as the company wants it.",
    criteria=tuple(RubricCriterion(name=name, description=text) for name, text in CRITERIA.items()),
)
_FIRST = (
    "Ada", "Bo", "Cleo", "Dario", "Edda", "Femi", "Gita", "Hugo", "Ines", "Jun", "Kaja", "Lior", "Mina",
    "Nils", "Olga", "Pavel", "Rosa", "Sami", "Tara", "Uwe",
)  # fmt: skip
_LAST = (
    "Abel", "Bauer", "Costa", "Dahl", "Engel", "Fabre", "Grau", "Holt", "Ito", "Jansen", "Keller", "Lund",
    "Moreno", "Novak", "Okafor", "Petrov", "Rossi", "Sato", "Thorn", "Vidal",
)  # fmt: skip
_GOODS = ("jacket", "kettle", "lamp", "headphones", "hose", "boots", "radio", "shears", "scarf", "printer")


class _Person(NamedTuple):
    name: str
    number: int
    """Below 10000; no two people of a seed have the same."""


def suites(
    seed: int, *, train: int = SIZES["train"], gate: int = SIZES["gate"], test: int = SIZES["test"]
) -> dict[str, list[Case]]:
    """Return suite → cases."""
    people = _people(seed)
    seen: set[tuple[Value, ...]] = set()
    sizes = {"train": train, "gate": gate, "test": test}
    return {name: list(_suite(seed, name, size, people, seen)) for name, size in sizes.items()}


def _people(seed: int) -> Iterator[_Person]:
    dice = random.Random(f"order desk, people {seed}")  # noqa: S311  # a world, no secret
    numbers = dice.sample(range(1000, 10000), 9000)
    names = [f"{first} {last}" for first in _FIRST for last in _LAST]
    dice.shuffle(names)
    return (_Person(names[n % len(names)], number) for n, number in enumerate(numbers))


def _suite(
    seed: int, suite: str, size: int, people: Iterator[_Person], seen: set[tuple[Value, ...]]
) -> Iterator[Case]:
    tools = sorted(CHANGES)
    for at, tool in enumerate(tools):
        count = len(range(at, size, len(tools)))
        dice = random.Random(f"order desk, {suite} {tool} {seed}")  # noqa: S311  # a world, no secret
        quantiles = _Even(count, dice)
        for n in range(count):
            yield _case(f"{suite}-{n * len(tools) + at + 1:03}", tool, next(people), quantiles, n, dice, seen)


class _Even:
    """Quantiles of each field that are spread evenly over some cases (Latin hypercube sampling)."""

    def __init__(self, count: int, dice: random.Random) -> None:
        self._count = count
        self._dice = dice
        self._strata: dict[str, list[int]] = {}

    def of(self, case: int) -> Callable[[str], float]:
        """Return the quantiles of one case: field → number from 0 to below 1."""
        return lambda field: self._draw(field, case)

    def _draw(self, field: str, case: int) -> float:
        if field not in self._strata:
            self._strata[field] = self._dice.sample(range(self._count), self._count)
        return (self._strata[field][case] + self._dice.random()) / self._count


def _case(  # noqa: PLR0913, PLR0917  # what a case is made of
    name: str,
    tool: str,
    person: _Person,
    quantiles: _Even,
    number: int,
    dice: random.Random,
    seen: set[tuple[Value, ...]],
) -> Case:
    quantile = quantiles.of(number)
    while True:
        world = _world(person, quantile, dice)
        drawn = (tool, *(v for rows in world.values() for row in rows[:1] for v in row.values()))
        fields = tuple(v for v in drawn if not str(v).endswith(str(person.number)) and v != person.name)
        if fields not in seen:
            break
    seen.add(fields)
    change = CHANGES[tool]
    wish = {
        "change": tool,
        **{key: str(world[f"{key.removesuffix('_id')}s"][0][key]) for key in change.keys},
        "how": change.options[int(quantile("how") * len(change.options))],
    }
    rows: dict[str, JsonValue] = {table: [dict(row) for row in found] for table, found in world.items()}
    given: dict[str, JsonValue] = {
        "request": write_request(tool, wish, person.name, dice),
        "now": NOW.isoformat(),
        "wish": dict(wish),
        "world": rows,
    }
    return Case(name=name, task_signature="order desk", input=given, rubric=RUBRIC)


def _world(
    person: _Person, quantile: Callable[[str], float], dice: random.Random
) -> dict[str, list[dict[str, Value]]]:
    """Return a customer with an order of one to three items; the first is the one that is asked about."""
    customer, order, payment = (f"{letter}{person.number}" for letter in "COP")
    items: list[dict[str, Value]] = []
    for n, title in enumerate(dice.sample(_GOODS, dice.randint(1, 3))):
        key = {"item_id": f"I{person.number}{n + 1}", "order_id": order, "title": title}
        items.append({**key, **draw_row("items", quantile if n == 0 else lambda _: dice.random())})
    return {
        "customers": [{"customer_id": customer, "name": person.name, **draw_row("customers", quantile)}],
        "orders": [
            {
                "order_id": order,
                "customer_id": customer,
                "payment_id": payment,
                **draw_row("orders", quantile),
            }
        ],
        "payments": [{"payment_id": payment, **draw_row("payments", quantile)}],
        "items": items,
    }
