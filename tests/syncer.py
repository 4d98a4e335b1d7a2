"""A clone that writes and syncs, for the tests of concurrency: `python -m tests.syncer STORE NAME COUNT`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.builders import make_plan, page, upsert
from xpstore.commit import commit
from xpstore.location import Location
from xpstore.sync import sync


def main(path: str, name: str, count: str) -> None:
    loc = Location.find(Path(path))
    for number in range(int(count)):
        item = upsert(f"{name}-{number}", page(f"{name}-{number}"))
        plan = make_plan(loc, item, rollouts=(), run_id=name)
        commit(loc, [plan], loc.config.main)
        sync(loc)
        sys.stdout.write(f"{plan.plan_id}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
