from __future__ import annotations

from trainer.service.envelope import failed, ok
from trainer.web.problem import Problem


def test_a_result_has_all_fields_of_the_envelope():
    assert ok([1], has_more=False) == {
        "status": "ok",
        "result": [1],
        "error": None,
        "telemetry": None,
        "profile": None,
        "has_more": False,
    }
    assert ok(1, telemetry={"id": "t"})["telemetry"] == {"id": "t"}


def test_a_problem_has_them_too():
    told = failed(Problem(404, "NOT_FOUND", "there is none", {"resource": "x"}))
    assert told == {
        "status": "error",
        "result": None,
        "error": {"code": "NOT_FOUND", "message": "there is none", "details": {"resource": "x"}},
        "telemetry": None,
        "profile": None,
    }
