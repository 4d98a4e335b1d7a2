"""A process that lands a branch, for the tests of concurrency: `python -m tests.lander STORE BRANCH`.

Prints the state of the result, or why it was refused.
"""

from __future__ import annotations

import sys
from pathlib import Path

from xpstore.errors import RefusedError
from xpstore.landing import land
from xpstore.location import Location


def main(path: str, branch: str) -> None:
    try:
        said = land(Location.find(Path(path)), branch).state
    except RefusedError as error:
        said = error.message
    sys.stdout.write(f"{said}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
