"""What a detector of secrets and personal data reports, and the mask that takes its place."""

from __future__ import annotations

import re
from typing import NamedTuple

PERSONAL_KINDS = frozenset({"email", "phone", "card", "iban", "ssn", "cvv"})
"""Kinds that are about a person; every other kind is a secret."""

MASK = re.compile(r"<(?:secret:)?[a-z0-9]+(?:-[a-z0-9]+)*-\d+>")
"""A mask as `mask` makes it."""


class Finding(NamedTuple):
    """A stretch of text that should not be kept: `text[start:end]`."""

    kind: str
    start: int
    end: int

    @property
    def personal(self) -> bool:
        """Say whether it is personal data; otherwise it is a secret that opens something."""
        return self.kind in PERSONAL_KINDS


def mask(kind: str, number: int) -> str:
    """Return the mask of the `number`th value of a kind: `<email-1>`, `<secret:aws-key-1>`."""
    return f"<{kind}-{number}>" if kind in PERSONAL_KINDS else f"<secret:{kind}-{number}>"
