from __future__ import annotations

from tests.trainer.offline.world import call, facts
from trainer.offline.check import check, pool
from trainer.stats import Table

PAGE = """---
name: cancel
---

## Approach

- Call `get_order` before you call `cancel`.
  *Support: 1 rollout in 1 cases.*
- Be kind.
"""
READ = call("get_order", {"order_id": "O1"}, {})
CANCEL = call("cancel", {"order_id": "O1"}, {})


def test_lessons_are_measured_from_the_markdown_alone() -> None:
    rollouts = [
        facts([READ, CANCEL], trial=0),
        facts([CANCEL], passed=False, trial=1),
        facts([CANCEL], trial=2),
        facts([READ], passed=False, trial=3),
    ]
    first, second = check(PAGE, rollouts)
    assert (first.section, first.sentence) == ("Approach", "Call `get_order` before you call `cancel`.")
    assert first.table == Table(1, 2, 0, 1)
    assert first.violates == (rollouts[1].id, rollouts[2].id)
    assert first.follows == (rollouts[0].id,)
    assert second.table is None
    assert pool([first, second]) == Table(1, 2, 0, 1)
