"""The Retry-After header: how long a service asks to be left alone (RFC 9110 §10.2.3)."""

from __future__ import annotations

import math
import time
from email.utils import parsedate_to_datetime


def seconds_of(header: str) -> float | None:
    """Return the seconds of a Retry-After header, which has a number or a date; None where it has neither.

    0 where the moment is past.
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(seconds, 0.0) if math.isfinite(seconds) else None
