from __future__ import annotations

from trainer.environments.order_desk.catalogue import CHANGES, schemas
from trainer.environments.order_desk.database import STATE


def test_there_are_at_least_eight_tools_with_schemas() -> None:
    found = {s.name: s.parameters for s in schemas()}
    assert len(found) == len(schemas()) >= 8
    for parameters in found.values():
        assert parameters["type"] == "object"
        assert set(parameters["required"]) == parameters["properties"].keys()  # type: ignore[union-attr, arg-type]


def test_what_a_tool_changes_is_a_column_of_state() -> None:
    for change in CHANGES.values():
        assert change.column in STATE[change.table]
        assert len(set(change.options)) == len(change.options) >= 2
