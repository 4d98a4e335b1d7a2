from __future__ import annotations

from trainer.environments.order_desk.catalogue import CHANGES, schemas
from trainer.environments.order_desk.habits import CLERK


def test_the_clerk_knows_every_change_and_starts_with_a_tool_that_exists() -> None:
    assert CLERK.requests.keys() == CHANGES.keys()
    assert CLERK.first_look in {s.name for s in schemas()}
