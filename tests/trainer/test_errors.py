from __future__ import annotations

from trainer.errors import ComponentError, RolloutError


def test_the_command_line_can_show_them():
    error = RolloutError("rollout 3 has no case", hint="give it one")
    assert error.exit_code == 2
    assert error.as_json() == {
        "error": "RolloutError",
        "message": "rollout 3 has no case",
        "hint": "give it one",
    }
    assert ComponentError("x").exit_code == 1
