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
from typing import TYPE_CHECKING

from xpstore.exchange.page import OWN, Page
from xpstore.exchange.stamp import BLANK, stamped
from xpstore.experience import STATUSES
from xpstore.names import MAX_NAME, check_name

if TYPE_CHECKING:
    from pydantic import JsonValue

KEY = "openviking"
"""The front matter key of fields that pages have no key for."""
NO_PLACE = ("version", "links", "backlinks")
"""What counts writes, or names files of another system."""
MARK = "MEMORY_FIELDS"
_COMMENT = re.compile(r"\s*<!--\s*MEMORY_FIELDS\s*\n(.*?)\n?\s*-->\s*\Z", re.DOTALL)
_FRONT = "xp_front"
_NAMES = {"experience_name", "memory_type", "xp_digest", "status", _FRONT}
_NOT_IN_NAME = re.compile(r"[^\w-]+")


@dataclass(frozen=True, slots=True)
class Imported:
    """A page, and what of its file has no place in a store."""

    page: Page
    left_out: tuple[str, ...]


def render(page: Page) -> str:
    """Return the file of a page; front matter that OpenViking knows nothing of is one field, `xp_front`."""
    free = page.free
    kept = free.pop(KEY, None)
    fields: dict[str, JsonValue] = {"xp_digest": BLANK, "experience_name": page.name, "status": page.status}
    if isinstance(kept, dict):
        fields |= kept
    elif kept is not None:
        free[KEY] = kept
    said = page.front.get("description")
    fields |= {"description": said} if said is not None else {}
    fields |= {_FRONT: free} if free else {}
    fields |= {"memory_type": "experiences"}
    told = json.dumps({k: v for k, v in fields.items() if v is not None}, ensure_ascii=False, indent=2)
    told = told.replace("-->", "--\\u003e")
    return stamped(f"{page.body}\n\n<!-- {MARK}\n{told}\n-->\n")


def read(text: str, stem: str) -> Imported:
    """Return the page of a file called `stem`.md. Raises InvalidNameError where no name can be made.

    A comment that is no JSON object stays in the body, so that nothing of it is lost, and is told.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    match = _COMMENT.search(text)
    fields = _fields(match[1]) if match else {}
    if match is None or fields is None:
        told = (f"{MARK} is no JSON object; it stays in the page's text",) if match else ()
        name = _name(stem)
        return Imported(Page(name, {"name": name}, text.strip("\n")), told)
    said = fields.get("experience_name")
    name = _name(said if isinstance(said, str) and said.strip() else stem)
    front: dict[str, JsonValue] = {"name": name}
    front |= {"description": fields["description"]} if "description" in fields else {}
    status = fields.get("status")
    front |= {"status": status} if status in STATUSES else {}
    ours = fields.get(_FRONT)
    front |= {key: value for key, value in ours.items() if key not in OWN} if isinstance(ours, dict) else {}
    kept: dict[str, JsonValue] = {}
    if isinstance(said, str) and said != name:
        kept["experience_name"] = said
    if status is not None and status not in STATUSES:
        kept["status"] = status
    rest = {k: v for k, v in fields.items() if k not in {*_NAMES, *NO_PLACE, *OWN}}
    kept |= rest
    if kept:
        front[KEY] = kept
    left_out = tuple(f"{key}: {_sized(fields[key])}" for key in NO_PLACE if key in fields)
    return Imported(Page(name, front, text[: match.start()].strip("\n")), left_out)


def _fields(text: str) -> dict[str, JsonValue] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _name(said: str) -> str:
    """Return a name of a store that is as near as can be."""
    near = _NOT_IN_NAME.sub("-", said.strip()).strip("-")
    return check_name(near[:MAX_NAME].strip("-") or said)


def _sized(value: JsonValue) -> str:
    return f"{len(value)} of them" if isinstance(value, list) else json.dumps(value)[:40]
