r"""OpenViking's experience files: a Markdown body, then a comment `MEMORY_FIELDS` with a JSON object.

    <body>

    <!-- MEMORY_FIELDS
    {"experience_name": …, "status": …, "version": …, "memory_type": "experiences", …}
    -->

Facts on the format: a value's `-->` is written `--\u003e`; a file without the comment is all body. What only
OpenViking can use (links to its trajectories and cases, its count of writes) has no place in a store and is
told; every other field is kept, under `openviking` in the front matter where a page has no key for it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from xpstore.errors import InvalidNameError
from xpstore.exchange.page import Page
from xpstore.exchange.stamp import BLANK, HEX, stamped
from xpstore.experience import STATUSES
from xpstore.names import MAX_NAME, check_name

if TYPE_CHECKING:
    from pydantic import JsonValue

    Fields = dict[str, JsonValue]

KEY = "openviking"
"""The front matter key of fields that pages have no key for."""
KIND = "experiences"
"""The `memory_type` of an experience."""
NO_PLACE = ("version", "links", "backlinks")
"""What counts writes, or names files of another system."""
MARK = "MEMORY_FIELDS"
STAMP = re.compile(rf'^<!-- {MARK}\n\{{\n  "xp_digest": "{HEX}"', re.MULTILINE)
"""Where the digest of a file of ours stands."""
_STORE = re.compile(rf'{STAMP.pattern},\n  "xp_store": "([^"\n]*)"', re.MULTILINE)
_BEGIN = re.compile(rf"<!--\s*{MARK}\s*\n")
_FRONT = "xp_front"
_NAMES = {"experience_name", "memory_type", "xp_digest", "xp_store", "status", "description", _FRONT}
_NOT_IN_NAME = re.compile(r"[^\w-]+")


@dataclass(frozen=True, slots=True)
class Imported:
    """A page, and what of its file has no place in a store."""

    page: Page
    left_out: tuple[str, ...]
    kind: str = KIND
    """The `memory_type` of the file: others than KIND are no experiences."""


def render(page: Page, store: str) -> str:
    """Return the file of a page; front matter that OpenViking knows nothing of is one field, `xp_front`."""
    free = page.free
    fields: Fields = {"xp_digest": BLANK, "xp_store": store, "experience_name": page.name}
    said = {key: page.front[key] for key in ("status", "description") if key in page.front}
    theirs = {key: value for key, value in said.items() if _is_theirs(key, value)}
    free |= {key: value for key, value in said.items() if key not in theirs}
    kept = free.get(KEY)
    if isinstance(kept, dict) and kept:
        back = {key: value for key, value in kept.items() if _goes_back(key, value, page)}
        rest = {key: value for key, value in kept.items() if key not in back}
        del free[KEY]
        free |= {KEY: rest} if rest else {}
        fields |= back
    fields |= theirs
    fields |= {_FRONT: free} if free else {}
    fields |= {"memory_type": KIND}
    told = json.dumps(fields, ensure_ascii=False, indent=2).replace("-->", "--\\u003e")
    return stamped(f"{page.body}\n\n<!-- {MARK}\n{told}\n-->\n", STAMP)


def _is_theirs(key: str, value: JsonValue) -> bool:
    return value in STATUSES if key == "status" else isinstance(value, str)


def _goes_back(key: str, value: JsonValue, page: Page) -> bool:
    """Say whether a field that a page kept is one of its file again: what became of the page counts more."""
    if key == "experience_name":
        return isinstance(value, str) and _may_be_called(value, page.name)
    if key == "status":
        return isinstance(value, str) and value not in STATUSES and "status" not in page.front
    if key == "description":
        return not isinstance(value, str | None) and key not in page.front
    return value is not None and key not in {*_NAMES, *NO_PLACE}


def _may_be_called(said: str, name: str) -> bool:
    try:
        return _name(said) == name
    except InvalidNameError:
        return False


def store_of(text: str) -> str:
    """Return the id of the store that wrote a file; "" where none did."""
    found = _STORE.findall(text.replace("\r\n", "\n"))
    return str(found[-1][1]) if found else ""


def has_fields(text: str) -> bool:
    """Say whether a text ends as a file of OpenViking's does."""
    return _parts(text)[1] is not None


def read(text: str, stem: str) -> Imported:
    """Return the page of a file called `stem`.md. Raises InvalidNameError where no name can be made.

    A comment that is no JSON object stays in the body, so that nothing of it is lost, and is told.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    body, fields = _parts(text)
    if fields is None:
        told = (f"{MARK} is no JSON object; it stays in the page's text",) if _BEGIN.search(text) else ()
        name = _name(stem)
        return Imported(Page(name, {"name": name}, text.strip("\n")), told)
    said = fields.get("experience_name")
    name = _name(said, stem) if isinstance(said, str) else _name(stem)
    front: Fields = {"name": name}
    front |= {key: fields[key] for key in ("description", "status") if _is_theirs(key, fields.get(key))}
    ours = fields.get(_FRONT)
    front |= {key: value for key, value in ours.items() if key != "name"} if isinstance(ours, dict) else {}
    kept = {key: value for key, value in fields.items() if key not in {*_NAMES, *NO_PLACE}}
    kept |= {key: fields[key] for key in ("status", "description") if key in fields and key not in front}
    kept |= {"experience_name": said} if said is not None and said != name else {}
    before = front.get(KEY)
    if kept and isinstance(before, dict | None):
        front[KEY] = {**(before or {}), **kept}
    left_out = tuple(f"{key}: {_sized(fields[key])}" for key in NO_PLACE if key in fields)
    return Imported(Page(name, front, body), left_out, str(fields.get("memory_type", KIND)))


def _parts(text: str) -> tuple[str, Fields | None]:
    """Return the body and the fields; None where the file does not end with a comment that has some."""
    whole = text.rstrip()
    if not whole.endswith("-->"):
        return text, None
    end = len(whole) - len("-->")
    for begin in _BEGIN.finditer(whole, max(whole.rfind("-->", 0, end), 0)):  # the end of a comment before
        try:
            value = json.loads(whole[begin.end() : end], parse_constant=_no_number)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return whole[: begin.start()].rstrip(" \t").strip("\n"), value
    return text, None


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _name(*said: str) -> str:
    """Return a name of a store that is as near as can be to the first of which there is one."""
    for text in said[:-1]:
        try:
            return _name(text)
        except InvalidNameError:
            continue
    near = _NOT_IN_NAME.sub("-", said[-1].strip()).lstrip("-")[:MAX_NAME]
    return check_name(near if near == said[-1] else near.rstrip("-") or said[-1])


def _sized(value: JsonValue) -> str:
    return f"{len(value)} of them" if isinstance(value, list) else json.dumps(value)[:40]
