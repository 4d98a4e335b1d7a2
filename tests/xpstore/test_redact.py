import json
import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore.personal import luhn
from xpstore.redact import Redactor, find_secrets

ALNUM = string.ascii_letters + string.digits


def token(prefix, size, alphabet=ALNUM):
    """A token that is no documentation key (ten equal characters) and has a digit."""
    body = st.text(alphabet, min_size=size - 1, max_size=size - 1).filter(
        lambda t: not re.search(r"(.)\1{5}", t)
    )
    return body.map(lambda text: f"{prefix}{text}7")


def card(digits):
    return next(digits + check for check in "0123456789" if luhn(digits + check))


SECRETS = st.one_of(
    token("AKIA", 16, string.ascii_uppercase + string.digits),
    token("ghp_", 36),
    token("glpat-", 20),
    token("xoxb-1234-", 24),
    token("sk_live_", 24),
    token("sk-proj-", 40),
    token("AIza", 35),
    token("hf_", 34),
    token("SG." + "a" * 3 + "b1" * 9 + "c.", 43),
    st.builds("{}.{}.{}".format, token("eyJ", 20), token("eyJ", 20), token("", 20)),
    st.builds("{}@{}.example.org".format, token("u", 6), token("h", 6)),
    st.text("0123456789", min_size=14, max_size=14).map(lambda digits: card("4" + digits)),
    st.text("0123456789", min_size=7, max_size=7).map(lambda digits: f"+1 415 {digits[:3]} {digits[3:]}"),
)
AROUND = st.sampled_from(
    ["{}", "say {} please", 'x "{}"', "({})", "中文，{}。", "a\n{}\nb", "key: {}", "[{}]"]
)
PLACES = st.sampled_from(
    [
        lambda text: text,
        lambda text: {"k": [1, text, None]},
        lambda text: json.dumps({"a": 1.50, "b": text}),
        lambda text: {"arguments": json.dumps({"inner": json.dumps({"x": [text]})}, ensure_ascii=False)},
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.tuples(SECRETS, AROUND, PLACES), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_no_secret_is_left_and_a_second_pass_changes_nothing(items):
    value = [place(around.format(secret)) for secret, around, place in items]
    redacted = Redactor().redact_json(value)
    text = json.dumps(redacted, ensure_ascii=False)
    for secret, _, _ in items:
        assert secret not in text
    assert Redactor().redact_json(redacted) == redacted


@given(JSON)
@settings(max_examples=50, deadline=None)
def test_any_json_keeps_its_shape_and_is_stable(value):
    redacted = Redactor().redact_json(value)
    assert type(redacted) is type(value)
    assert Redactor().redact_json(redacted) == redacted


@given(st.text(max_size=200))
@settings(max_examples=80, deadline=None)
def test_any_text_is_stable(text):
    redacted = Redactor().redact_text(text)
    assert Redactor().redact_text(redacted) == redacted


FRAGMENTS = [
    *(
        "password",
        "token",
        "api_key",
        "phone",
        "Bearer ",
        "Authorization: Basic ",
        "Cookie: a",
        "https://",
        "-----",
    ),
    *(
        "=",
        ":",
        " is ",
        "@",
        " ",
        "\n",
        '"',
        "'",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        "\\",
        "\\n",
        "%40",
        "<",
        ">",
        "&",
        "是",
    ),
    *(
        "hunter2",
        "u:p1",
        "a@b.co",
        "mia@example.com",
        "4111111111111111",
        "+14155552671",
        "415-555-2671",
        "7",
        "x",
    ),
    *(
        "AKIAIOSFODNN7ABCDEFG",
        "<email-1>",
        "<secret:password-1>",
        "DE89370400440532013000",
        "EXAMPLE",
        "123-45-6789",
    ),
]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join))
@settings(max_examples=150, deadline=None)
def test_hostile_text_is_stable(text):
    redacted = Redactor().redact_text(text)
    assert Redactor().redact_text(redacted) == redacted


def test_same_value_same_mask_whatever_the_order_of_keys():
    first = {"a": "x@example.com", "b": "y@example.com then x@example.com"}
    second = dict(reversed(first.items()))
    expected = {"a": "<email-1>", "b": "<email-2> then <email-1>"}
    assert Redactor().redact_json(first) == Redactor().redact_json(second) == expected


def test_masks_go_on_over_the_texts_of_one_redactor():
    redactor = Redactor()
    assert redactor.redact_text("x@example.com") == "<email-1>"
    assert redactor.redact_text("y@example.com, x@example.com") == "<email-2>, <email-1>"


def test_a_password_given_away_once_is_masked_everywhere():
    value = ["I type hunter2 again", "password=hunter2"]
    assert Redactor().redact_json(value) == [
        "I type <secret:password-1> again",
        "password=<secret:password-1>",
    ]


def test_a_plain_word_used_as_password_stays_a_word_elsewhere():
    assert Redactor().redact_json(["a sunshine day", "password=sunshine"])[0] == "a sunshine day"


def test_masks_that_came_with_the_text_are_not_given_away_again():
    assert Redactor().redact_text("<email-1> wrote to x@example.com") == "<email-1> wrote to <email-2>"


def test_json_text_keeps_every_other_byte():
    text = '{ "to":"a@example.com",\t"n": 1.50, "nl": "x\\nmia@example.com", "u": "\\u00e9" }\n'
    assert Redactor().redact_text(text) == text.replace('"a@example.com"', '"<email-1>"').replace(
        "mia@example.com", "<email-2>"
    )


def test_escapes_in_json_text_hide_nothing():
    text = '{"a": "mia\\u0040example.com", "u": "https:\\/\\/me:s3cret@host"}'
    assert (
        Redactor().redact_text(text) == '{"a": "<email-1>", "u": "https://me:<secret:url-password-1>@host"}'
    )


def test_keys():
    redacted = Redactor().redact_json(
        {"mia@example.com": 1, "user": {"password": "swordfish", "id": "mia_li_3668"}}
    )
    assert redacted == {"<email-1>": 1, "user": {"password": "<secret:password-1>", "id": "mia_li_3668"}}


def test_numbers():
    value = {
        "card": 4111111111111111,
        "phone": 4155552671,
        "order": 8412345678,
        "cost": 0.0035475000000000003,
    }
    expected = {"card": "<card-1>", "phone": "<phone-1>", "order": 8412345678, "cost": 0.0035475000000000003}
    assert Redactor().redact_json(value) == expected
    assert json.loads(Redactor().redact_text(json.dumps(value))) == expected


def test_deep_json_text_is_taken_as_text():
    text = "[" * 5000 + '"a@example.com"' + "]" * 5000
    assert "a@example.com" not in Redactor().redact_text(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("AC" + "a1" * 16, "twilio-key"),
        ("123456789:" + "aB3_-" * 7, "telegram-token"),
        ("AccountKey=" + "a1" * 44, "azure-key"),
        ("0123456789abcdef0123456789abcdef-us12", "mailchimp-key"),
        ("https://hooks.slack.com/services/T000AA/B000BB/abcdefghijkl", "slack-token"),
    ],
)
def test_the_library_finds_what_it_knows(text, kind):
    assert kind in {item.kind for item in find_secrets(text)}


def test_findings_for_guards():
    text = "use AKIAIOSFODNN7ABCDEFG or mia@example.com, not AKIAIOSFODNN7EXAMPLE or <email-1>"
    assert [(item.kind, item.personal, text[item.start : item.end]) for item in find_secrets(text)] == [
        ("aws-key", False, "AKIAIOSFODNN7ABCDEFG"),
        ("email", True, "mia@example.com"),
    ]
    assert find_secrets("x" * 100_000) == []


def test_overlaps_become_one_finding():
    text = "password=ghp_" + "a1B2" * 9
    assert [(item.start, item.end) for item in find_secrets(text)] == [(9, len(text))]
