"""The base of every value: frozen, strict about unknown keys, free of I/O."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value: hashable by content where its fields are, never changed after it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid")
