"""Say in one line what to install where packages of an extra are missing."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def extra(name: str, packages: frozenset[str], verb: str) -> Iterator[None]:
    """Turn the failed import of one of these packages into an error with the line to type.

    Raises UsageError; whatever else does not import is a defect, and stays one.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in packages:
            raise
        raise UsageError(
            f"{verb} needs the package '{package}', which is not installed",
            hint=f"pip install 'xpstore[{name}]'",
        ) from error
