from __future__ import annotations

import pytest
from pydantic import ValidationError

from trainer.environments.agent import ToolSchema


def test_a_tool_schema_is_json_and_frozen() -> None:
    schema = ToolSchema(name="get_order", description="Read it.", parameters={"type": "object"})
    assert ToolSchema.model_validate_json(schema.model_dump_json()) == schema
    with pytest.raises(ValidationError):
        schema.name = "other"
