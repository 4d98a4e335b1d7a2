from __future__ import annotations

from trainer.service.session_errors import ExistsError, InvalidRequestError, StateError, UnknownError
from trainer.web.problem import problem_of


def test_clients_know_the_codes_and_are_told_what_it_is_about():
    unknown = problem_of(UnknownError("session", "s1", hint="create it first"))
    assert (unknown.status, unknown.code) == (404, "NOT_FOUND")
    assert unknown.details == {"resource": "s1", "type": "session", "hint": "create it first"}
    exists = problem_of(ExistsError("session", "s1", "there is one"))
    assert (exists.status, exists.code, exists.message) == (409, "ALREADY_EXISTS", "there is one")
    assert exists.details == {"resource": "s1", "type": "session"}
    assert problem_of(StateError("done")).code == "CONFLICT"
    assert problem_of(InvalidRequestError("no")).code == "INVALID_ARGUMENT"
