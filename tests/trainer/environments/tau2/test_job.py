from __future__ import annotations

import pytest

from trainer.environments.tau2.job import Clock, Use
from trainer.environments.tau2.scoring import InfrastructureError


def test_a_question_gets_the_time_that_is_left_at_most():
    clock = Clock(100.0)
    assert clock.left(5.0) == 5.0
    assert 0 < clock.left(1_000.0) <= 100.0


def test_when_time_is_over_or_nobody_waits_nothing_more_is_asked():
    with pytest.raises(InfrastructureError, match="longer than 0 s"):
        Clock(0.0).left(5.0)
    clock = Clock(100.0)
    clock.stop()
    with pytest.raises(InfrastructureError, match="cancelled"):
        clock.left(5.0)


def test_use_counts_and_prices():
    use = Use()
    use.add({"prompt_tokens": 100, "completion_tokens": 10}, 0.5)
    use.add(None, None)
    use.add({"prompt_tokens": -3, "completion_tokens": "x"}, None)
    assert use.as_json(0, 0) == {"calls": 3, "prompt_tokens": 100, "completion_tokens": 10, "cost": 0.5}
    assert use.as_json(1e6, 0)["cost"] == 100.0
