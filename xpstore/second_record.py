"""The record of a plan that landed otherwise than it was made: merged, or without what was there already.

The plan's folder gets a second record, under the digest of what landed. Plan-Id, Base-Commit and all that the
first record says of the evidence stay.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from xpstore import events, evidence, layout, record
from xpstore.errors import FormatError
from xpstore.plan import digest_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xpstore.events import Stamp
    from xpstore.evidence import EvidenceFile
    from xpstore.location import Location

NOTHING = "0" * 40
"""Stands for the blob of a file that is not there."""


class Step(NamedTuple):
    """The blobs of one file before and after."""

    before: str
    after: str


def of(
    loc: Location, message: str, made: Mapping[str, Step], landed: Mapping[str, Step]
) -> tuple[str, list[EvidenceFile]]:
    """Return the message of a plan's commit, and the record to write, for what landed of it.

    `made` and `landed` have the experiences that the commit changed and that the new one changes. Message
    and evidence stay as they are for a commit that is no plan, or several, or not what its record says: then
    `xp verify` compares the texts.
    """
    stamps = events.claims(message)
    old = _recorded(loc, stamps[0]) if len(stamps) == 1 else {}
    items = old.get("items")
    if not isinstance(items, list) or _steps(items) != made:
        return message, []
    kept = [
        {
            **item,
            "kind": "delete_experience" if step.after == NOTHING else "upsert_experience",
            "base_blob": step.before,
            "result_blob": step.after,
        }
        for item in items
        if (step := landed.get(str(item["target_experience_name"])))
    ]
    rows = [[i["kind"], i["target_experience_name"], i["base_blob"], i["result_blob"]] for i in kept]
    plan_id, digest = stamps[0].plan_id, digest_of(rows, str(old["rationale"]), stamps[0].plan_id)
    new = {
        **old,
        "items": kept,
        "digest": digest,
        # a plan that was tried again has the record of the first try
        "base_commit": stamps[0].get("Base-Commit") or None,
        "run_id": stamps[0].get("Run-Id"),
    }
    new["checksum"] = record.checksum_of(new)
    file = evidence.json_file(layout.record_path(plan_id, digest), new)
    line = re.compile(rf"^(Plan-Digest[ \t]*:[ \t]*){stamps[0].get('Plan-Digest')}", re.MULTILINE)
    return line.sub(rf"\g<1>{digest}", message), [file]


def _recorded(loc: Location, stamp: Stamp) -> dict[str, object]:
    if not stamp.plan_id or not re.fullmatch("[0-9a-f]+", stamp.get("Plan-Digest")):
        return {}
    path = layout.record_path(stamp.plan_id, stamp.get("Plan-Digest"))
    data = evidence.read(loc, path)
    try:
        found = {} if data is None else evidence.parse_json(data, path)
    except FormatError:  # altered; `xp verify` says so
        return {}
    return found if {"rationale", "checksum"} <= found.keys() else {}


def _steps(items: list[object]) -> dict[str, Step]:
    return {
        str(item.get("target_experience_name")): Step(
            str(item.get("base_blob")), str(item.get("result_blob"))
        )
        for item in items
        if isinstance(item, dict)
    }
