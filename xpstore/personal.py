"""Personal data with a shape of its own: e-mail, phone, payment card, IBAN, US social security number.

Order numbers, dates, amounts, flight numbers and user ids are no personal data here: a bare run of digits
counts only where a checksum holds (cards, IBAN) or a word beside it says what it is (phone, cvv).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xpstore.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCAL = r"A-Za-z0-9\u00C0-\u024F._%+'-"
_EMAIL = re.compile(
    rf"(?<![{_LOCAL}])['.-]{{0,3}}(?!git@)(?P<value>[A-Za-z0-9\u00C0-\u024F_%+][{_LOCAL}]{{0,63}}(?:@|%40)"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24})(?![A-Za-z0-9])"
)
_PHONE_WORDS = r"(?:tele)?phone|tel|mobile|cell|fax|whatsapp|手机号?码?|电话(?:号码)?|联系方式"
_PHONE_KEY = re.compile(rf"(?:^|[_ .-]|\b)(?:{_PHONE_WORDS})(?:[_ -]?(?:number|no|nr))?$", re.IGNORECASE)
_DIGITS = r"\+?\(?\d(?:[ ().-]{0,2}\d){6,14}"
_PHONES = (
    re.compile(r"(?<![\w+.])(?P<value>\+\(?[1-9](?:[ ().-]{0,2}\d){8,14})(?![\w-])"),
    re.compile(r"(?<![\w.+/-])(?P<value>(?:1[ .-])?\([2-9]\d\d\)[ -]?\d{3}[ .-]?\d{4})(?![\w-])"),
    re.compile(r"(?<![\w.+/-])(?P<value>(?:1[ .-])?[2-9]\d\d(?P<sep>[.-])\d{3}(?P=sep)\d{4})(?![\w-])"),
    re.compile(r"(?<![\w.+/-])(?P<value>(?:1[ .-])?[2-9]\d\d \d{3}-\d{4})(?![\w-])"),
    re.compile(
        rf"(?<![A-Za-z])(?:{_PHONE_WORDS})(?:[_ ]?(?:number|no\.?))?[\"']?"
        r"[\s:=\uFF1A#]{0,3}(?:is\s|是)?\s?[\"']?"
        rf"(?P<value>{_DIGITS})(?!\w)",
        re.IGNORECASE,
    ),
)
_SSN = re.compile(r"(?<![\w-])(?P<value>(?!000|666|9\d\d)\d{3}-(?!00)\d\d-(?!0000)\d{4})(?![\w-])")
_CVV_WORDS = r"(?:cvv|cvc)2?"
_CVV_KEY = re.compile(rf"(?:card_?)?{_CVV_WORDS}", re.IGNORECASE)
_CVV = re.compile(
    rf"(?<![A-Za-z]){_CVV_WORDS}[\"']?[\s:=]{{0,3}}(?:is\s)?[\"']?(?P<value>\d{{3,4}})(?!\w)", re.IGNORECASE
)
_CARD = re.compile(
    r"(?<![\w.-])(?P<value>\d{13,19}|\d{4}(?P<sep>[ -])\d{4}(?P=sep)\d{4}(?P=sep)\d{4}(?:(?P=sep)\d{1,3})?"
    r"|\d{4}(?P<sep2>[ -])\d{6}(?P=sep2)\d{4,5})(?![\w-]|\.\d)"
)
# Length and first digits of the schemes: Visa, Mastercard, American Express, Discover, Diners, JCB, UnionPay.
_CARD_SCHEME = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}"
    r"|(?:6011|65\d\d|64[4-9]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
)
_IBAN_START = re.compile(r"(?<!\w)(?=[A-Z]{2}\d\d)(?P<value>(?:[A-Z0-9] ?){15,34})", re.ASCII)
# ISO 13616: country and length of its IBAN.
_IBAN_LENGTHS = {
    entry[:2]: int(entry[2:])
    for entry in re.findall(
        r"\w+",
        """
        AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29
        ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20
        LB28 LC32 LI21 LT20 LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29
        RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
        """,
    )
}


def luhn(digits: str) -> bool:
    """Say whether the digits end with the check digit of ISO/IEC 7812-1 (Luhn)."""
    total = 0
    for index, char in enumerate(reversed(digits)):
        digit = int(char) * (1 + index % 2)
        total += digit - 9 if digit > 9 else digit
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Say whether this is a payment card's number: scheme, length and check digit."""
    return bool(_CARD_SCHEME.fullmatch(digits)) and luhn(digits)


def is_iban(compact: str) -> bool:
    """Say whether this (without spaces) is an IBAN: the country's length, and 1 modulo 97 (ISO 7064)."""
    if _IBAN_LENGTHS.get(compact[:2]) != len(compact):
        return False
    return int("".join(str(int(char, 36)) for char in compact[4:] + compact[:4])) % 97 == 1


def find_personal(text: str) -> Iterator[Finding]:
    """Yield personal data in `text`; findings may overlap."""
    if "@" in text or "%40" in text:
        yield from _spans("email", _EMAIL, text)
    for pattern in _PHONES:
        yield from _spans("phone", pattern, text)
    yield from _spans("ssn", _SSN, text)
    yield from _spans("cvv", _CVV, text)
    for match in _CARD.finditer(text):
        if is_card(re.sub(r"[ -]", "", match["value"])):
            yield Finding("card", *match.span("value"))
    for match in _IBAN_START.finditer(text):
        end = _iban_end(match["value"])
        if end:
            yield Finding("iban", match.start(), match.start() + end)


def names_personal(key: str) -> bool:
    """Say whether a key can make its value personal data."""
    return bool(_PHONE_KEY.search(key) or _CVV_KEY.fullmatch(key))


def personal_under_key(key: str, value: str) -> str:
    """Return the kind of personal data that `value` is because of its key, or an empty text."""
    if _PHONE_KEY.search(key) and re.fullmatch(_DIGITS, value.strip()):
        return "phone"
    if _CVV_KEY.fullmatch(key) and re.fullmatch(r"\d{3,4}", value):
        return "cvv"
    return ""


def _spans(kind: str, pattern: re.Pattern[str], text: str) -> Iterator[Finding]:
    for match in pattern.finditer(text):
        yield Finding(kind, *match.span("value"))


def _iban_end(candidate: str) -> int:
    """Return how many characters from the start are an IBAN (spaces counted), or 0."""
    length = _IBAN_LENGTHS.get(candidate[:2], 0)
    compact = ""
    for index, char in enumerate(candidate):
        if len(compact) == length:
            complete = char == " " or candidate[index - 1] == " "
            return index - (candidate[index - 1] == " ") if complete and is_iban(compact) else 0
        compact += "" if char == " " else char
    return len(candidate.rstrip()) if is_iban(compact) else 0
