"""The envelope around every answer, as clients of OpenViking's session API expect it.

{"status": "ok" | "error", "result": …, "error": null | {"code", "message", "details"},
 "telemetry": …, "profile": null}
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer.web.problem import Problem


def ok(result: object, *, telemetry: object = None, **beside: object) -> dict[str, object]:
    """Return the envelope of a result; `beside` are fields that stand beside it."""
    return {
        "status": "ok",
        "result": result,
        "error": None,
        "telemetry": telemetry,
        "profile": None,
        **beside,
    }


def failed(problem: Problem) -> dict[str, object]:
    """Return the envelope of a problem; for `make_app`."""
    error = {"code": problem.code, "message": problem.message, "details": dict(problem.details)}
    return {**ok(None), "status": "error", "error": error}
