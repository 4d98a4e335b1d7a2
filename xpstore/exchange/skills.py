"""Agent Skills: one folder per experience with a SKILL.md (rules: agentskills.io, checked by skills-ref).

A skill's name has letters, digits and single hyphens, all small; its description at most 1,024 characters.
What of a page does not fit there stands under `metadata` (texts only) in keys that begin with `xp-`, so that
reading the folder gives the page back. Three hyphens stand nowhere in the front matter: readers of skills,
the validator too, take any for its end.
"""

from __future__ import annotations

import json
import re
import unicodedata
from hashlib import sha256
from typing import TYPE_CHECKING

from xpstore import frontmatter
from xpstore.errors import DocumentError, FormatError
from xpstore.exchange.page import OWN, Page
from xpstore.exchange.stamp import BLANK, HEX, stamped
from xpstore.names import check_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import JsonValue

FILE = "SKILL.md"
MOST_NAME = 64
MOST_DESCRIPTION = 1024
MOST_COMPATIBILITY = 500
_TEXTS = {"license": 10_000, "compatibility": MOST_COMPATIBILITY, "allowed-tools": 10_000}
"""Keys of a skill that a page may have too, and how long they may be."""
_NAME, _DESCRIPTION, _STATUS, _FRONT = "xp-name", "xp-description", "xp-status", "xp-front"
_OURS = "xp-"
_END = re.compile("-{3,}")
STAMP = re.compile(rf"\A---\n(?:(?!---\n).*\n)*?  xp-digest: '{HEX}'\n---\n")
"""Where the digest of a SKILL.md stands: in the last line of its front matter."""


def folders(names: Iterable[str]) -> dict[str, str]:
    """Return name → the name of its skill; two names that would have the same one get a hash."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        skill = _skill_name(name)
        if not skill or skill in taken:
            skill = f"{skill[: MOST_NAME - 9].strip('-') or 'xp'}-{sha256(name.encode()).hexdigest()[:8]}"
        found[name] = skill
        taken.add(skill)
    return found


def _skill_name(name: str) -> str:
    """Return the name as a skill may have it; "" where nothing is left of it."""
    small = unicodedata.normalize("NFKC", name).lower()
    if not all(char.isalnum() or char in "-_" for char in small):  # a mark of a script: no such name there
        return ""
    return re.sub("[-_]+", "-", small).strip("-")[:MOST_NAME].strip("-")


def render(page: Page, skill: str, store: str) -> str:
    """Return the SKILL.md of a page that is exported as `skill` by a store (its id)."""
    description = _END.sub("—", page.description)[:MOST_DESCRIPTION]
    front: dict[str, object] = {"name": skill, "description": description}
    free = page.free
    for key, most in _TEXTS.items():
        value = free.get(key)
        if isinstance(value, str) and 0 < len(value) <= most and not _END.search(value):
            front[key] = free.pop(key)
    metadata = _texts(free.get("metadata"))
    if metadata:
        del free["metadata"]
    said = page.front.get("description")
    metadata |= (
        {_NAME: _told(page.name) if _END.search(page.name) else page.name} if skill != page.name else {}
    )
    metadata |= {_DESCRIPTION: _told(said)} if said != description else {}
    status = page.front.get("status")
    is_plain = isinstance(status, str) and not _END.search(status)
    metadata |= {_STATUS: str(status)} if is_plain else {}
    free |= {} if status is None or is_plain else {"status": status}
    metadata |= {_FRONT: _told(free)} if free else {}
    front["metadata"] = {**metadata, "xp-store": store, "xp-digest": BLANK}
    return stamped(f"---\n{frontmatter.dump(front)}---\n\n{page.body}\n", STAMP)


def _told(value: object) -> str:
    """Return a value as JSON, without two hyphens beside each other."""
    return json.dumps(value, ensure_ascii=False).replace("--", "-\\u002d")


def _texts(value: JsonValue) -> dict[str, str]:
    """Return a map of texts that is none of ours; {} for anything else."""
    if not isinstance(value, dict) or any(key.startswith(_OURS) or _END.search(key) for key in value):
        return {}
    texts = {key: text for key, text in value.items() if isinstance(text, str) and not _END.search(text)}
    return texts if len(texts) == len(value) else {}


def store_of(text: str) -> str:
    """Return the id of the store that wrote a SKILL.md; "" where none did, or it cannot be read."""
    try:
        source, _ = frontmatter.split(text)
        metadata = frontmatter.load(source or "").get("metadata")
    except DocumentError:
        return ""
    return str(metadata.get("xp-store", "")) if isinstance(metadata, dict) else ""


def read(text: str, folder: str, where: str) -> Page:
    """Return the page of a SKILL.md. Raises DocumentError, FormatError, InvalidNameError."""
    source, body = frontmatter.split(text, where)
    front = frontmatter.load(source or "", where)
    kept = front.get("metadata")
    metadata = dict(kept) if isinstance(kept, dict) else {}
    ours = {key: metadata.pop(key) for key in list(metadata) if key.startswith(_OURS)}
    said = str(ours.get(_NAME) or front.get("name") or folder)
    name = check_name(str(_json(said, where)) if said.startswith('"') else said)
    fields: dict[str, object] = {"name": name}
    description = _json(ours[_DESCRIPTION], where) if _DESCRIPTION in ours else front.get("description")
    fields |= {"description": description} if description is not None else {}
    fields |= {"status": ours[_STATUS]} if _STATUS in ours else {}
    fields |= {key: value for key, value in front.items() if key not in {*OWN, "metadata"}}
    if metadata or (kept is not None and not isinstance(kept, dict)):
        fields["metadata"] = metadata or kept
    free = _json(ours[_FRONT], where) if _FRONT in ours else {}
    fields |= {key: value for key, value in free.items() if key != "name"} if isinstance(free, dict) else {}
    return Page(name, fields, body.replace("\r\n", "\n").strip("\n"))  # type: ignore[arg-type]


def _json(text: object, where: str) -> object:
    try:
        value: object = json.loads(str(text))
    except (ValueError, RecursionError) as error:
        raise FormatError(
            f"{where}: a key that begins with {_OURS} is no JSON", hint="export it again"
        ) from error
    return value
