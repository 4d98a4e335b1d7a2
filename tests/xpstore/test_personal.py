import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore.personal import find_personal, is_card, is_iban, luhn, names_personal, personal_under_key


def found(text):
    return [(item.kind, text[item.start : item.end]) for item in find_personal(text)]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("mail mia@example.com.", "email", "mia@example.com"),
        ("邮箱是mia@example.com，谢谢", "email", "mia@example.com"),
        ("mía.lópez+x@mail.example.co.uk", "email", "mía.lópez+x@mail.example.co.uk"),
        ("?to=mia%40example.com&x", "email", "mia%40example.com"),
        ("call +1 (415) 555-2671 now", "phone", "+1 (415) 555-2671"),
        ("+86 138 1234 5678", "phone", "+86 138 1234 5678"),
        ("+442071838750.", "phone", "+442071838750"),
        ("(415) 555-2671", "phone", "(415) 555-2671"),
        ("415.555.2671", "phone", "415.555.2671"),
        ("手机号是13812345678", "phone", "13812345678"),
        ("phone number: 4155552671", "phone", "4155552671"),
        ("ssn 123-45-6789", "ssn", "123-45-6789"),
        ("cvv: 123", "cvv", "123"),
        ("4111 1111 1111 1111", "card", "4111 1111 1111 1111"),
        ("amex 378282246310005.", "card", "378282246310005"),
        ("3782-822463-10005", "card", "3782-822463-10005"),
        ("GB82 WEST 1234 5698 7654 32 AND", "iban", "GB82 WEST 1234 5698 7654 32"),
        ("DE89370400440532013000", "iban", "DE89370400440532013000"),
    ],
)
def test_personal_data_is_found(text, kind, value):
    assert (kind, value) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "mia_li_3668",
        "HAT136 on 2024-05-20 at 15:00:00 EST",
        "2024-05-20T10:00:00+08:00",
        "$1,200.50 and 23553.0",
        "credit_card_4421486, certificate_7504069",
        "order 8412345678, #W1234567, B6CXBLR",
        "1716200000000 and 0.0035475000000000003",
        "git@github.com:org/repo.git",
        "react@18.2.0/umd/react.js",
        "250 300 1200",
        "10.0.0.1:8080",
        "978-3-16-148410-0",
        "123e4567-e89b-12d3-a456-426614174000",
        "4111 1111 1111 1112",
        "GB82 WEST 1234 5698 7654 33",
        "000-12-3456",
        "my card ending in 7447",
    ],
)
def test_ids_dates_and_amounts_are_not(text):
    assert found(text) == []


@given(st.text("0123456789", min_size=1, max_size=20))
@settings(max_examples=50)
def test_exactly_one_check_digit_fits(digits):
    assert sum(luhn(digits + check) for check in "0123456789") == 1


def test_cards_and_ibans_need_their_length_and_checksum():
    assert is_card("4111111111111111")
    assert not is_card("41111111111111")
    assert not is_card("9111111111111111")
    assert is_iban("GB82WEST12345698765432")
    assert not is_iban("GB82WEST1234569876543")
    assert not is_iban("XX82WEST12345698765432")


def test_a_key_tells_what_bare_digits_are():
    assert personal_under_key("phone_number", "4155552671") == "phone"
    assert personal_under_key("home phone", "(415) 555 2671") == "phone"
    assert personal_under_key("card_cvv", "123") == "cvv"
    assert personal_under_key("reservation", "4155552671") == ""
    assert personal_under_key("phone", "home") == ""
    assert names_personal("mobile")
    assert not names_personal("hotel")
