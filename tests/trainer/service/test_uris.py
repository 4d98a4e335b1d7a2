from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.service.uris import EXPERIENCES, Place, experience_uri, parse_uri, uri_of
from trainer.web.problem import WebError


@pytest.mark.parametrize("name", ["refund", "退款-2", "a_b"])
def test_an_experience_has_a_name_and_the_name_an_experience(name):
    uri = experience_uri("pat", name)
    assert uri == f"viking://user/pat/memories/experiences/{name}.md"
    assert parse_uri(uri, "pat").experience == name
    assert parse_uri(uri.replace("user/pat", "~"), "pat").experience == name


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("viking://", Place((), is_above=True)),
        ("viking://user/", Place((), is_above=True)),
        ("viking://user/pat", Place(())),
        ("viking://~", Place(())),
        ("viking://user/pat/memories/", Place(("memories",))),
        ("viking://user/pat/sessions/s", Place(("sessions", "s"))),
    ],
)
def test_folders(uri, place):
    assert parse_uri(uri, "pat") == place
    assert place.experience is None


@pytest.mark.parametrize(
    "uri",
    [
        *("", "/etc/passwd", "file:///etc/passwd", "viking:/user/pat", "viking://user//pat"),
        *("viking://user/pat/../bob", "viking://user/pat/memories/experiences/../../x.md", "viking://./x"),
        "viking://user/pat/" + "x" * 1_000,
    ],
)
def test_what_is_no_name_is_refused(uri):
    with pytest.raises(WebError) as told:
        parse_uri(uri, "pat")
    assert (told.value.status, told.value.code) == (400, "INVALID_URI")
    assert told.value.details["reason"]


def test_another_user_is_none_of_ours():
    with pytest.raises(WebError) as told:
        parse_uri("viking://user/bob/memories", "pat")
    assert told.value.code == "PERMISSION_DENIED"


@pytest.mark.parametrize(
    "file", ["a", "a.txt", ".md", "a b.md", "-a.md", "..md", "a\x00.md", "e\u0301.md", "c:x.md"]
)
def test_no_experience_can_have_such_a_name(file):
    with pytest.raises(WebError) as told:
        _ = parse_uri(uri_of("pat", *EXPERIENCES, file), "pat").experience
    assert told.value.code == "NOT_FOUND"


def test_what_is_below_a_session():
    assert parse_uri("viking://~/sessions/s/history/a/b", "pat").session == ("s", ("history", "a", "b"))
    assert parse_uri("viking://~/sessions", "pat").session is None
    assert parse_uri("viking://~/memories/s/x", "pat").session is None


def test_a_folder_holds_what_is_below_it():
    below = (*EXPERIENCES, "a.md")
    assert Place((), is_above=True).holds(below)
    assert Place(("memories",)).holds(below)
    assert Place(below).holds(below)
    assert not Place(("sessions",)).holds(below)


@settings(max_examples=80)
@given(st.text(max_size=30), st.text("/.~%user patmemoriexnc\0\udcff\n", max_size=60))
def test_any_text_is_a_place_or_refused(user, text):
    for uri in (text, f"viking://{text}", f"viking://user/pat/{text}", f"viking://{user}/{text}"):
        with suppress(WebError):
            place = parse_uri(uri, "pat")
            assert not {"", ".", ".."} & {*place.parts}
            name = place.experience
            assert name is None or "/" not in name
