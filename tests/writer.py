"""A writer process for the tests of concurrency: `python -m tests.writer STORE BRANCH NAME COUNT`.

Prints one commit id per plan, each as soon as it is safe.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.builders import make_plan, page, upsert
from xpstore.commit import commit
from xpstore.location import Location


def main(path: str, branch: str, name: str, count: str) -> None:
    loc = Location.find(Path(path))
    for number in range(int(count)):
        item = upsert(f"{name}-{number}", page(f"{name}-{number}"))
        landed = commit(loc, [make_plan(loc, item, branch=branch)], branch)
        sys.stdout.write(f"{landed[0].commit}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
