"""Names of experiences, and text that a reader cannot see.

A name becomes a file name, part of a branch name and a heading, on every system and in any script, so it is
narrower than any of them. Content is wider: invisible characters are legal where a script or an emoji
needs them and suspicious everywhere else, because models read what reviewers do not see.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from xpstore.errors import InvalidNameError

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAME = 64
MAX_NAME_BYTES = 200  # file systems stop at 255 bytes; `.md` and temporary suffixes need room

_HINT = f"use letters and digits of any script, `-` and `_`, at most {MAX_NAME} characters"
_DEVICES = re.compile(r"(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])$")
_PLAIN = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_-]{{0,{MAX_NAME - 1}}}")  # most names; they need no closer look
_ALL_PLAIN = re.compile(
    r"(?:(?!(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])\0)" rf"[A-Za-z0-9_][A-Za-z0-9_-]{{0,{MAX_NAME - 1}}}\0)*"
)
_ZWNJ, _ZWJ, _ZWSP, _SHY = "\u200c", "\u200d", "\u200b", "\u00ad"
_JOINERS = _ZWNJ + _ZWJ
_MARKS = "\u061c\u200e\u200f"  # direction of the neighbours: Arabic, left, right
_NAME_CATEGORIES = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Nd", "Nl"})

# Every character that shows nothing by itself (Unicode's Default_Ignorable_Code_Point, the controls but
# tab, line feed, form feed and carriage return, bidi controls, lone surrogates).
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f")
# Sets of characters as pairs, first and last of each range: as regular expressions they would take longer
# to compile than a command takes to start.

# Symbols that take part in emoji sequences (a superset of Extended_Pictographic, good enough to tell an
# emoji from a letter).
_PICTOGRAPHS = (
    "\u00a9\u00a9\u00ae\u00ae\u203c\u203c\u2049\u2049\u2100\u214f\u2190\u23ff\u2460\u24ff\u25a0\u27bf"
    "\u2900\u297f\u2b00\u2bff\u3030\u3030\u303d\u303d\u3297\u3297\u3299\u3299\U0001f000\U0001faff"
)
_IDEOGRAPHS = "\u3005\u3005\u3007\u3007\u3400\u4dbf\u4e00\u9fff\uf900\ufaff\U00020000\U0003ffff"
# Scripts whose letters join, or need a hint not to: Arabic, Syriac, N'Ko, the Indic scripts, Tibetan,
# Myanmar, Khmer, Mongolian, and their extensions.
_JOINING = (
    "\u0600\u07ff\u0840\u085f\u0860\u08ff\u0900\u0dff\u0f00\u109f\u1780\u18af\u1cd0\u1cff\ua840\ua8ff"
    "\ua9e0\ua9ff\uaa60\uaa7f\uabc0\uabff\ufb50\ufdff\ufe70\ufeff\U00011000\U00011fff"
)
_SPACELESS = "\u0e00\u0eff\u1000\u109f\u1780\u17ff\u3040\u30ff\u4e00\u9fff"


def check_name(name: str) -> str:
    """Return the name in NFC. Raises InvalidNameError, which says what is wrong with it."""
    if _PLAIN.fullmatch(name) and not _DEVICES.match(name):
        return name
    nfc = unicodedata.normalize("NFC", name)
    problem = _name_problem(nfc)
    if problem:
        raise InvalidNameError(f"invalid experience name {name!r}: {problem}", hint=_HINT)
    return nfc


def all_plain(names: Iterable[str]) -> bool:
    """Return whether `check_name` returns each of these as it is; False also where that is not clear."""
    return bool(_ALL_PLAIN.fullmatch("\0".join([*names, ""])))


def _name_problem(name: str) -> str:
    if invisible_spans(name):
        return "it contains invisible characters"
    wrong = next((char for char in name if not _may_stand_in_name(char)), "")
    if wrong:
        return f"{wrong!r} is not allowed"
    if not name or name[0] == "-" or unicodedata.category(name[0])[0] in "MC":
        return "it must begin with a letter, a digit or `_`"
    if _DEVICES.match(name):
        return "some systems reserve it for a device"
    if len(name) > MAX_NAME or len(name.encode()) > MAX_NAME_BYTES:
        return f"it is longer than {MAX_NAME} characters or {MAX_NAME_BYTES} bytes"
    return ""


def _may_stand_in_name(char: str) -> bool:
    if char in _JOINERS:
        return True  # the ones that no script explains are refused as invisible
    return (char in "-_" or unicodedata.category(char) in _NAME_CATEGORIES) and not _UNSEEN.match(char)


def fold(name: str) -> str:
    """Return the key under which two names are the same file somewhere: case, NFC/NFD, joiners."""
    bare = unicodedata.normalize("NFD", name).replace(_ZWNJ, "").replace(_ZWJ, "")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", bare.casefold()))


def invisible_spans(text: str) -> list[tuple[int, int, str]]:
    """Return (start, end, kind) of every run of invisible characters that no script or emoji explains.

    Kinds: `control`, `bidi`, `tag`, `surrogate`, `zero-width`. Offsets count characters. A byte order mark
    at the very start is legal.
    """
    flags = [match.span() for match in _FLAG.finditer(text)] if "\U0001f3f4" in text else []
    spans: list[tuple[int, int, str]] = []
    for match in _UNSEEN.finditer(text):
        at = match.start()
        if _is_legal(text, at) or any(start < at < end for start, end in flags):
            continue
        kind = _kind(text[at])
        if spans and spans[-1][1] == at and spans[-1][2] == kind:
            spans[-1] = (spans[-1][0], at + 1, kind)
        else:
            spans.append((at, at + 1, kind))
    return spans


def without_invisible(text: str) -> str:
    """Return the text without its invisible spans; the same text where it has none."""
    for start, end, _ in reversed(invisible_spans(text)):
        text = text[:start] + text[end:]
    return text


def _kind(char: str) -> str:
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:
        return "surrogate"
    if 0xE0000 <= code <= 0xE007F:
        return "tag"
    if char in _MARKS or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return "bidi"
    return "control" if unicodedata.category(char) == "Cc" else "zero-width"


def _is_legal(text: str, at: int) -> bool:
    char = text[at]
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if char in _JOINERS:
        legal = _is_in(before, _JOINING) or (char == _ZWJ and _joins_emoji(before, after))
    elif char == _ZWSP:
        legal = _is_in(before, _SPACELESS) and _is_in(after, _SPACELESS)
    elif char == _SHY:
        legal = before.isalpha() and after.isalpha()
    elif char in _MARKS:
        legal = _line_has_rtl(text, at)
    elif "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        legal = _selects_variant(char, before)
    elif char in "\u180b\u180c\u180d\u180f":
        legal = "\u1800" <= before <= "\u18af"
    else:
        legal = char == "\ufeff" and at == 0
    return legal


def _is_in(char: str, pairs: str) -> bool:
    """Return whether a character, or the lack of one (""), is in a set."""
    return any(pairs[at] <= char <= pairs[at + 1] for at in range(0, len(pairs), 2))


def _joins_emoji(before: str, after: str) -> bool:
    left = before in {"\ufe0f", "\U000e007f"} or _is_in(before, _PICTOGRAPHS)
    return left and _is_in(after, _PICTOGRAPHS)


def _selects_variant(char: str, before: str) -> bool:
    if char in "\ufe0e\ufe0f":  # text or emoji style
        return _is_in(before, _PICTOGRAPHS) or (before != "" and before in "0123456789#*")
    is_math = before != "" and unicodedata.category(before) == "Sm" and char == "\ufe00"
    return is_math or _is_in(before, _IDEOGRAPHS)


def _line_has_rtl(text: str, at: int) -> bool:
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : end if end >= 0 else len(text)]
    return any(unicodedata.bidirectional(char) in {"R", "AL"} for char in line if char not in _MARKS)
