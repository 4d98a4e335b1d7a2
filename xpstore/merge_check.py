"""Does the record of a plan say the truth about its merges? Each is made again, or checked again.

PROVEN    the rules of merge.py give the same page
VERIFIED  by a model: its decision and its account pass every check of resolution_check.py
          by a person: no marker is left, the front matter is there and parses, and nothing commands the
          opposite of what stays
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore.conflict import question
from xpstore.errors import DocumentError
from xpstore.experience import experience_uri
from xpstore.hashing import blob_id
from xpstore.merge import merge
from xpstore.merged_page import MergedPage, deciders
from xpstore.plan import NOTHING
from xpstore.resolution import claims, resolve
from xpstore.resolution_check import check, check_text, errors
from xpstore.resolver import PERSON, OfflineResolver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xpstore.carried import Texts


def problems(record: Mapping[str, object], texts: Texts) -> tuple[list[str], list[str]]:
    """Return what is wrong with the merges of a record, and what of them can no longer be checked.

    Raises TypeError or ValueError where they have no form that a record has.
    """
    rows = record.get("merges", [])
    if not isinstance(rows, list):
        raise TypeError("merges")
    pages = [MergedPage.model_validate(row) for row in rows]
    wrong = [*_ends(record, pages), *_decided(record, pages)]
    notes: list[str] = []
    for page in pages:
        where = f"the merge of {experience_uri(page.name)}"
        try:
            found = list(_merge_problems(page, texts))
        except KeyError:
            notes.append(f"{where}: the texts are no longer here, so it cannot be made again")
        else:
            wrong += [f"{where}: {problem}" for problem in found]
    return wrong, notes


def _ends(record: Mapping[str, object], pages: Sequence[MergedPage]) -> Iterator[str]:
    """Compare the last merge of each page with the item that landed."""
    items = record.get("items")
    landed = {
        str(item["target_experience_name"]): (str(item["base_blob"]), str(item["result_blob"]))
        for item in (items if isinstance(items, list) else ())
    }
    for name, page in {page.name: page for page in pages}.items():
        if name in landed and landed[name] != (page.ours, page.result):
            yield f"the merge of {experience_uri(name)} is not what landed"


def _decided(record: Mapping[str, object], pages: Sequence[MergedPage]) -> Iterator[str]:
    named = {name for name in str(record.get("resolved_by", "")).split(", ") if name}
    missing = {name for name in deciders(pages).split(", ") if name} - named
    if missing:
        yield f"{', '.join(sorted(missing))} decided a merge and is not in resolved_by"


def _merge_problems(page: MergedPage, texts: Texts) -> Iterator[str]:
    """Yield what is wrong with one merge. Raises KeyError where a text is nowhere."""
    if page.wanted is not None:
        if blob_id(page.wanted) != page.theirs:
            yield "what the plan wanted is not the recorded blob"
            return
        texts.known[page.theirs] = page.wanted
    base, ours, theirs, result = (
        None if blob == NOTHING else texts.get(blob)
        for blob in (page.base, page.ours, page.theirs, page.result)
    )
    if page.verdict == "PROVEN":
        if resolve(base, ours, theirs, OfflineResolver(), page.name).text != result:
            yield "the rules give another page, and nobody is said to have decided"
        return
    if page.resolved_by == PERSON:
        if result is not None:  # a person may also delete a page
            yield from errors(check_text((base, ours, theirs), result, page.name))
        return
    conflict = question(base, ours, theirs, merge(base, ours, theirs, page.name), page.name)
    if conflict is None or result is None:
        yield f"there was nothing that {page.resolved_by or 'a resolver'} could decide"
        return
    try:
        yield from errors(check(conflict, result, claims(page.account)))
    except DocumentError as error:
        yield error.message
