from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hooks.ci_comment import LIMIT, MARKER, PER_PAGE, Request, put
from tests.site_runner import serving
from xpstore.errors import RefusedError, RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=["github", "gitlab"])
def site(request) -> Iterator[tuple[Request, list[dict[str, object]], list[str]]]:
    with serving() as (api, comments, calls):
        rows = comments.setdefault(7, [])
        yield Request(request.param, api, "pat/desk", 7, "secret"), rows, calls


def by_person(number: int, body: str) -> dict[str, object]:
    who = {"type": "User", "id": 6}
    return {"id": number, "user": who, "author": who, "body": body}


def test_the_first_report_is_written_and_the_next_one_over_it(site):
    request, rows, _ = site
    rows.append(by_person(1, "Well."))
    assert put(request, "# One\n") == "written"
    assert put(request, "# Two\n", "https://site.example/log") == "written over"
    [_, ours] = rows
    assert ours["body"] == f"{MARKER}\n# Two\n\n[Log](https://site.example/log)\n"


def test_a_comment_of_somebody_else_is_not_taken_for_ours(site):
    request, rows, _ = site
    rows.append(by_person(1, f"{MARKER}\nAll is well."))
    assert put(request, "# One\n") == "written"
    assert rows[0]["body"] == f"{MARKER}\nAll is well."


def test_it_is_found_behind_many_others(site):
    request, rows, calls = site
    rows += [by_person(number, "x") for number in range(PER_PAGE + 3)]
    put(request, "One")
    calls.clear()
    assert put(request, "Two") == "written over"
    assert len([call for call in calls if call.endswith(("comments", "notes"))]) == 2


def test_a_missing_report_says_so_and_a_long_one_is_cut(site):
    request, rows, _ = site
    put(request, "")
    assert "It did not finish" in str(rows[0]["body"])
    put(request, "x" * 2 * LIMIT)
    assert len(str(rows[0]["body"])) < 65_536


def test_a_site_that_says_no_or_nothing_is_an_error(site):
    request, _, _ = site
    with pytest.raises(RefusedError, match="answers 403"):
        put(Request(request.site, request.api, "pat/desk", 7, "wrong"), "x")
    with pytest.raises(RepositoryError, match="no answer from"):
        put(Request(request.site, "http://127.0.0.1:1", "pat/desk", 7, "secret"), "x")
    with pytest.raises(RefusedError, match="is no address of a site"):
        put(Request(request.site, "file:///etc", "pat/desk", 7, "secret"), "x")
