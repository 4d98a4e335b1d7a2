from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xpstore.errors import InvalidNameError
from xpstore.names import MAX_NAME, MAX_NAME_BYTES, check_name, fold, invisible_spans

GOOD = [
    "refund",
    "a",
    "A-b_c-9",
    "_x",
    "9lives",
    "退款-规则",
    "二〇二四",
    "かんじ",
    "한국어",
    "می‌روم",
    "நான்",
    "क्‍ष",
    "ไทย",
    "naïve",
    "עברית",
    "console",
    "com10",
    "a" * MAX_NAME,
    "退" * MAX_NAME,
]
BAD = [
    "",
    "-a",
    "a/b",
    "../x",
    "a\\b",
    ".hidden",
    "a.b",
    "a b",
    "a\n",
    "a\x00",
    "CON",
    "nul",
    "Com1",
    "LPT9",
    "a\u202eb",
    "a\u200bb",
    "a\u200db",
    "x\u3164",
    "a\ufe0f",
    "😀",
    "½",
    "a" * (MAX_NAME + 1),
    "𠀀" * (MAX_NAME_BYTES // 4 + 1),
    "\u0301a",
    "a~1",
    "a:b",
    "a\ud800",
    "git@x",
]


@pytest.mark.parametrize("name", GOOD)
def test_good_names(name):
    assert check_name(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize("name", BAD)
def test_bad_names(name):
    with pytest.raises(InvalidNameError) as caught:
        check_name(name)
    assert caught.value.hint
    assert "\n" not in caught.value.message


def test_names_are_returned_in_nfc():
    assert check_name("re\u0301fund") == "r\u00e9fund"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Refund", "rEFUND"),
        ("r\u00e9", "re\u0301"),
        ("STRASSE", "straße"),
        ("می‌روم", "میروم"),
        ("Σας", "σασ"),
    ],
)
def test_names_that_are_the_same_file_somewhere(one, other):
    assert fold(one) == fold(other)


def test_other_names_stay_apart():
    assert len({fold(n) for n in ("a-b", "a_b", "ab", "退款", "退货", "e", "é")}) == 7


@given(st.text())
def test_any_text_is_a_name_or_a_clear_error(text):
    try:
        name = check_name(text)
    except InvalidNameError:
        return
    assert check_name(name) == name
    assert fold(name) == fold(fold(name))
    assert not set(name) & set("/\\.\0 ")


LEGAL = [
    "plain, ASCII\tand\r\nline ends\f",
    "family 👩‍👧 and 👩🏽‍💻 and 🏳️‍🌈 and 🙂‍↔️",
    "flags 🏴󠁧󠁢󠁳󠁣󠁴󠁿 🏴󠁧󠁢󠁷󠁬󠁳󠁿 🇨🇳",
    "hearts ❤️ ☎︎ and keycaps 1️⃣ #️⃣",
    "می‌خواهم بروم",
    "क्‍ष and ന്‍ and র‍্য",
    "שלום\u200f (abc\u200e)",
    "ភាសា\u200bខ្មែរ",
    "葛󠄀城",
    "Silben\u00adtrennung",
    "\ufeffwith a byte order mark",
    "U+2028 \u2028 is text",
    "ᠮᠣᠩ᠋ᠭᠣᠯ",
]


@pytest.mark.parametrize("text", LEGAL)
def test_legal_text_has_no_invisible_spans(text):
    assert invisible_spans(text) == []


ILLEGAL = [
    ("foo\u200dbar", (3, 4, "zero-width")),
    ("a\u200b\u200bb", (1, 3, "zero-width")),
    ("a\u202eb", (1, 2, "bidi")),
    ("a\u2066b\u2069", (1, 2, "bidi")),
    ("latin\u200f", (5, 6, "bidi")),
    ("x\U000e0041\U000e0042y", (1, 3, "tag")),
    ("🏴\U000e0067", (1, 2, "tag")),
    ("a\x1b[0m", (1, 2, "control")),
    ("a\x00", (1, 2, "control")),
    ("a\x85", (1, 2, "control")),
    ("a\ufeffb", (1, 2, "zero-width")),
    ("a\ufe0f", (1, 2, "zero-width")),
    ("❤️\ufe0e\U000e0101", (2, 4, "zero-width")),
    ("a\u3164", (1, 2, "zero-width")),
    ("a\u2060b", (1, 2, "zero-width")),
    ("a\ud800", (1, 2, "surrogate")),
    ("word \u200c word", (5, 6, "zero-width")),
]


@pytest.mark.parametrize(("text", "span"), ILLEGAL)
def test_invisible_spans(text, span):
    assert invisible_spans(text)[0] == span


@given(st.text(st.sampled_from("aم❤😀\u200c\u200d\u200b\ufe0f\u202e\U000e0041\U000e007f\U0001f3f4\n")))
def test_spans_are_ordered_and_inside(text):
    spans = invisible_spans(text)
    flat = [x for start, end, _ in spans for x in (start, end)]
    assert flat == sorted(flat)
    assert all(0 <= start < end <= len(text) for start, end, _ in spans)
