"""Time methods side by side and print what came out."""

from __future__ import annotations

import random
import resource
import sys
import time
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Times = dict[str, list[float]]


def cpu() -> float:
    """Return the seconds of processor time that this process and its finished children have used."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def interleave(
    methods: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    warm: int = 1,
    prepare: Callable[[], object] | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Times:
    """Return the seconds of every call; each round calls every method once, in another order.

    `prepare` runs before each round and is not timed; the first `warm` rounds do not count.
    """
    order = random.Random(0)  # noqa: S311 - no secret
    times: Times = defaultdict(list)
    names = list(methods)
    for number in range(-warm, rounds):
        order.shuffle(names)
        if prepare:
            prepare()
        for name in names:
            start = clock()
            methods[name]()
            if number >= 0:
                times[name].append(clock() - start)
    return times


def medians(times: Times) -> dict[str, float]:
    """Return the median of every method in milliseconds."""
    return {name: median(values) * 1000 for name, values in times.items()}


def table(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[object]]) -> None:
    """Print one table on standard output."""
    width = max(map(len, [*rows, title]))
    lines = [f"{title:{width}}  " + "  ".join(f"{c:>14}" for c in columns)]
    for name, values in rows.items():
        lines.append(f"{name:{width}}  " + "  ".join(f"{_cell(v):>14}" for v in values))
    sys.stdout.write("\n" + "\n".join(lines) + "\n")


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "" if value is None else str(value)
