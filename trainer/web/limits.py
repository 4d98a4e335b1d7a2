"""How much a caller may send, and how often.

The rate is a token bucket for each key (without one: each address): a burst at once, then so many a second.
The common library for it (`limits`) keeps its windows in memory by the wall clock, without a bound, and
starts a thread to expire them; what is needed here are a few lines on the monotonic clock, bounded in memory,
that say exactly how long to wait.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.web.problem import WebError

if TYPE_CHECKING:
    from collections.abc import Callable

MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class WebLimits:
    """What one request, and one caller, may cost."""

    body_bytes: int = 16 * MEBIBYTE
    """Of a request; more is a 413, whether the length was announced or not."""
    body_seconds: float = 60.0
    """Within which a body must be here, later is a 408; and within which an answer has to be read."""
    header_seconds: float = 10.0
    """Within which the headers of a request must be here; later the connection is closed."""
    depth: int = 100
    """Of nested arrays and objects in JSON; more is a 400."""
    per_second: float = 200.0
    """Requests of one caller in the long run; more is a 429 with Retry-After. 0 = any number."""
    burst: int = 1000
    """Requests of one caller at once."""
    connections: int = 500
    """Open at the same time; more are answered with 503, and of twice as many none is kept."""


class Rate:
    """Token buckets of the callers seen last. Belongs to one event loop."""

    KEPT = 10_000
    """Buckets; one that was forgotten starts full again."""

    def __init__(self, limits: WebLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._burst, self._clock = limits.per_second, max(limits.burst, 1), clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # who → tokens, when

    def take(self, who: str) -> float:
        """Take a token; return 0 where there was one, else the seconds until there will be."""
        if not self._per_second:
            return 0.0
        now = self._clock()
        tokens, then = self._buckets.pop(who, (float(self._burst), now))
        tokens = min(tokens + (now - then) * self._per_second, float(self._burst))
        is_free = tokens >= 1
        self._buckets[who] = (tokens - 1 if is_free else tokens, now)
        if len(self._buckets) > self.KEPT:
            self._buckets.popitem(last=False)
        return 0.0 if is_free else (1 - tokens) / self._per_second


def too_large(limit: int) -> WebError:
    """Return the error of a body over the limit."""
    return WebError(
        413, f"the request is larger than {limit:,} bytes", hint="send less at once", details={"limit": limit}
    )
