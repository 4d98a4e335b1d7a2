"""The record of a plan that landed otherwise than it was made: merged, or without what was there already.

The plan's folder gets a second record, under the digest of what landed. Plan-Id, Base-Commit and all that the
first record says of the evidence stay.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from xpstore import events, evidence, layout, record
from xpstore.errors import FormatError
from xpstore.merged_page import deciders
from xpstore.plan import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xpstore.events import Stamp
    from xpstore.evidence import EvidenceFile
    from xpstore.location import Location
    from xpstore.merged_page import MergedPage

NOTHING = "0" * 40
"""Stands for the blob of a file that is not there."""


NOWHERE: Mapping[str, str] = MappingProxyType({})


class Step(NamedTuple):
    """The blobs of one file before and after."""

    before: str
    after: str


def of(  # noqa: PLR0913  # the two sides, and what led from one to the other
    loc: Location,
    message: str,
    made: Mapping[str, Step],
    landed: Mapping[str, Step],
    *,
    merges: Sequence[MergedPage] = (),
    moved: Mapping[str, str] = NOWHERE,
) -> tuple[str, list[EvidenceFile]]:
    """Return the message of a plan's commit, and the record to write, for what landed of it.

    `made` and `landed` have the experiences that the commit changed and that the new one changes, `merges`
    how those were merged that main had changed too, `moved` the new names of pages that it had renamed.
    Message and evidence stay as they are for a commit that is no plan, or several, or not what its record
    says: then `xp verify` compares the texts.
    """
    stamps = events.claims(message)
    old = _recorded(loc, stamps[0]) if len(stamps) == 1 else {}
    listed = old.get("items")
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    if not items or _steps(items) != made:
        return message, []
    kept = [
        {
            **item,
            "target_experience_name": name,
            "kind": "delete_experience" if step.after == NOTHING else "upsert_experience",
            "base_blob": step.before,
            "result_blob": step.after,
        }
        for item in items
        for name in (_now(str(item["target_experience_name"]), landed, moved),)
        if (step := landed.get(name))
    ]
    rows = _rows(kept)
    plan_id, digest = stamps[0].plan_id, digest_of(rows, str(old["rationale"]), stamps[0].plan_id)
    earlier = old.get("merges", [])
    decided = deciders(merges, str(old["resolved_by"]))
    new = {
        **old,
        "items": kept,
        "digest": digest,
        "resolved_by": decided,
        # a plan that was tried again has the record of the first try
        "base_commit": stamps[0].get("Base-Commit") or None,
        "run_id": stamps[0].get("Run-Id"),
    }
    if merges:
        made_ = [page.model_dump(mode="json") for page in merges]
        new["merges"] = [*(earlier if isinstance(earlier, list) else []), *made_]
    if not old["gradients"]:  # then the id is made from the items as they were planned
        new["planned"] = old.get("planned") or _rows(items)
    new["checksum"] = record.checksum_of(new)
    file = evidence.json_file(layout.record_path(plan_id, digest), new)
    line = re.compile(rf"^(Plan-Digest[ \t]*:[ \t]*){stamps[0].get('Plan-Digest')}", re.MULTILINE)
    return _resolved_by(line.sub(rf"\g<1>{digest}", message), decided), [file]


def _now(name: str, landed: Mapping[str, Step], moved: Mapping[str, str]) -> str:
    return name if name in landed else moved.get(name, name)


def _rows(items: list[dict[str, object]]) -> list[list[str]]:
    keys = ("kind", "target_experience_name", "base_blob", "result_blob")
    return sorted([str(item[key]) for key in keys] for item in items)


def _resolved_by(message: str, names: str) -> str:
    """Return the message with this trailer `Resolved-By`, which stands below the plan's other trailers."""
    line = re.compile(r"^Resolved-By[ \t]*:.*$", re.MULTILINE)
    if not names or line.search(message):
        return line.sub(lambda _: f"Resolved-By: {names}", message)
    text, end = message.rstrip("\n"), message[len(message.rstrip("\n")) :]
    return f"{text}\nResolved-By: {names}{end}"


def _recorded(loc: Location, stamp: Stamp) -> dict[str, object]:
    if not stamp.plan_id or not re.fullmatch("[0-9a-f]+", stamp.get("Plan-Digest")):
        return {}
    path = layout.record_path(stamp.plan_id, stamp.get("Plan-Digest"))
    data = evidence.read(loc, path)
    try:
        found = {} if data is None else evidence.parse_json(data, path)
    except FormatError:  # altered; `xp verify` says so
        return {}
    return found if {"rationale", "checksum", "resolved_by", "gradients"} <= found.keys() else {}


def _steps(items: list[dict[str, object]]) -> dict[str, Step]:
    return {
        str(item.get("target_experience_name")): Step(
            str(item.get("base_blob")), str(item.get("result_blob"))
        )
        for item in items
    }
