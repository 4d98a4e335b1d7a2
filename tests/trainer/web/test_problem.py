from __future__ import annotations

import json

import pytest

from trainer.web.problem import UNAVAILABLE, Problem, WebError, code_of, encoded, plain, problem_of
from xpstore.errors import (
    ConflictError,
    FormatError,
    NotFoundError,
    RefusedError,
    RepositoryError,
    UsageError,
    XpError,
)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (UsageError("a"), 400, "INVALID_ARGUMENT"),
        (FormatError("a"), 400, "INVALID_ARGUMENT"),
        (NotFoundError("a"), 404, "NOT_FOUND"),
        (ConflictError("a", ()), 409, "CONFLICT"),
        (RefusedError("a"), 409, "CONFLICT"),
        (WebError(409, "a", code="ALREADY_EXISTS"), 409, "ALREADY_EXISTS"),
        (WebError(418, "a"), 418, "INVALID_ARGUMENT"),
    ],
)
def test_errors_of_the_layers_below_have_a_status_and_a_code(error, status, code):
    assert problem_of(error) == Problem(status, code, "a")


@pytest.mark.parametrize(("error", "status"), [(RepositoryError, 503), (XpError, 500)])
def test_of_what_fails_here_the_caller_hears_no_detail(error, status):
    problem = problem_of(error("cannot write /srv/keys", hint="look at /srv"))
    assert (problem.status, problem.message, problem.details) == (status, UNAVAILABLE, {})


def test_hint_details_and_headers_go_along():
    error = WebError(429, "slow down", hint="wait", details={"retry_after": 3}, headers={"Retry-After": "3"})
    problem = problem_of(error)
    assert problem.details == {"hint": "wait", "retry_after": 3}
    assert problem.headers == {"Retry-After": "3"}
    assert plain(problem)["error"] == {
        "code": "RESOURCE_EXHAUSTED",
        "message": "slow down",
        "details": {"hint": "wait", "retry_after": 3},
    }


def test_every_status_has_a_code():
    assert [code_of(s) for s in (404, 422, 499, 500, 599)] == [
        *("NOT_FOUND", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "INTERNAL", "INTERNAL")
    ]


def test_any_text_can_be_told():
    assert json.loads(encoded({"a": "\udcff\x00é"})) == {"a": "\udcff\x00é"}
