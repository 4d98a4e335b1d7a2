from __future__ import annotations

import pytest

from trainer.web.limits import Rate, WebLimits, too_large


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_burst_goes_at_once_then_so_many_a_second():
    clock = Clock()
    rate = Rate(WebLimits(per_second=2, burst=3), clock)
    assert [rate.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert rate.take("b") == 0  # others have their own
    clock.now += 0.25
    assert rate.take("a") == 0.25
    clock.now += 0.25
    assert rate.take("a") == 0
    clock.now += 1_000
    assert [rate.take("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_waiting_as_long_as_told_is_enough():
    clock = Clock()
    rate = Rate(WebLimits(per_second=3, burst=1), clock)
    for _ in range(50):
        assert rate.take("a") == 0
        clock.now += rate.take("a") + 1e-9


def test_zero_is_any_number():
    rate = Rate(WebLimits(per_second=0, burst=1))
    assert not any(rate.take("a") for _ in range(100))


def test_callers_without_number_are_not_kept(monkeypatch):
    monkeypatch.setattr(Rate, "KEPT", 10)
    rate = Rate(WebLimits(per_second=1, burst=1), Clock())
    for number in range(100):
        rate.take(str(number))
    assert len(rate._buckets) == 10
    assert rate.take("99")  # the last ones are


def test_too_large_says_how_much_is_allowed():
    error = too_large(1 << 20)
    assert (error.status, error.details) == (413, {"limit": 1 << 20})
    assert error.message == "the request is larger than 1,048,576 bytes"


def test_limits_are_a_value():
    with pytest.raises(AttributeError):
        WebLimits().depth = 3
