"""What a model answers that is asked for edits: one statement each, never a page."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from xpstore.model import Frozen

SURE = 10
"""The highest confidence."""


class Edit(Frozen):
    """One statement that is to be added, changed or taken away. What decides comes first."""

    trials: tuple[Annotated[int, Field(ge=0, le=999)], ...] = Field(
        max_length=32, json_schema_extra={"minItems": 1}
    )
    rationale: str = Field(max_length=400, json_schema_extra={"minLength": 8})
    action: Literal["update", "create", "delete", "skip"]
    page: int = Field(ge=0, le=99)
    statement: int = Field(ge=0, le=9_999)
    name: str = Field(max_length=80)
    when: str = Field(max_length=320)
    section: Literal["Approach", "Reflect"]
    text: str = Field(max_length=400)
    confidence: int = Field(ge=0, le=SURE)


class Edits(Frozen):
    """The edits that the trials of one task call for."""

    edits: tuple[Edit, ...] = Field(max_length=6)
    nothing: str = Field(max_length=240)
