"""Experiences as files of another program: what an export consists of."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore import serving
from xpstore.exchange import agents_file, openviking, skills
from xpstore.exchange.formats import FIGURES
from xpstore.exchange.page import Page
from xpstore.exchange.stamp import BLANK, HEX, stamped
from xpstore.experience import SERVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from xpstore.exchange.formats import Format
    from xpstore.experience import ExperienceSet


JSON_STAMP = re.compile(rf'\A\{{\n  "xp_digest": "{HEX}"')
"""Where the digest of a JSON document stands."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """What an export of one format consists of."""

    form: Format
    commit: str
    names: tuple[str, ...]
    """The experiences in it, sorted."""
    files: Mapping[str, str]
    """Path below the folder → text; for a format of one file, "" → its text or block."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Experience → why it is not in it."""


def bundle(
    experiences: ExperienceSet, form: Format, store: str, *, everything: bool = False, figures: bool = False
) -> Bundle:
    """Return the experiences of a store (its id) in a format.

    What agents are served (production, staging), or `everything`. Figures below statements are left out of
    what agents read, unless `figures`.
    """
    good, bad = serving.readable(experiences)
    left_out = dict(bad)
    pages: list[Page] = []
    for experience in good:
        page = Page.of(experience, figures=figures or form in FIGURES)
        if not everything and experience.status not in SERVED:
            left_out[experience.name] = f"its status is {experience.status}"
        elif form in {"agents-md", "claude-md"} and not agents_file.can_hold(page):
            left_out[experience.name] = "it has the marks of an export in its text"
        else:
            pages.append(page)
    files = _files(pages, form, store, experiences.snapshot_id)
    return Bundle(form, experiences.snapshot_id, tuple(p.name for p in pages), files, left_out)


def _files(pages: Sequence[Page], form: Format, store: str, commit: str) -> dict[str, str]:
    if form == "skills":
        names = skills.folders(page.name for page in pages)
        return {f"{names[p.name]}/{skills.FILE}": skills.render(p, names[p.name], store) for p in pages}
    if form == "openviking":
        return {f"{page.name}.md": openviking.render(page, store) for page in pages}
    if form == "json":
        text = json.dumps(as_json(pages, store, commit), ensure_ascii=False, indent=2)
        return {"": stamped(f"{text}\n", JSON_STAMP)}
    return {"": agents_file.render(pages, store)}


def as_json(pages: Iterable[Page], store: str, commit: str) -> dict[str, object]:
    """Return a JSON document whose digest is blank.

    {"xp_digest", "store", "commit", "experiences": [{"name", "description", "status", "front", "body"}]}
    """
    rows = [
        {
            "name": page.name,
            "description": page.description,
            "status": page.status,
            "front": dict(page.front),
            "body": page.body,
        }
        for page in pages
    ]
    return {"xp_digest": BLANK, "store": store, "commit": commit, "experiences": rows}
