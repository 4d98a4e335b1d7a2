"""What a plan may be, before any branch is looked at. Each refusal says what, where and what to do."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xpstore.document import Document
from xpstore.errors import InvalidNameError, LimitError, RefusedError, UsageError
from xpstore.names import check_name, fold, invisible_spans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.config import StoreConfig
    from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan
    from xpstore.settings import Limits


def check_plan(plan: PolicyUpdatePlan, config: StoreConfig) -> None:
    """Raise the typed error of the first thing in the plan that may not be written."""
    if plan.store_id != config.id:
        raise UsageError(
            f"the plan was made for store {plan.store_id!r}, this is {config.id!r}",
            hint="plan again on a snapshot of this store",
        )
    if not plan.items:
        raise UsageError("the plan has no items", hint="an empty plan is no commit: there is nothing to do")
    check_items(plan.items, config.limits)


def check_items(items: Sequence[PolicyPlanItem], limits: Limits) -> None:
    """Raise the typed error of the first item that may not be written, whatever it is written to."""
    deletes = sum(item.kind == "delete_experience" for item in items)
    _limit("items", len(items), limits.items_per_plan)
    _limit("deletions", deletes, limits.deletes_per_plan)
    names = Counter(item.target_experience_name for item in items)
    seen: dict[str, str] = {}
    for item in items:
        name = item.target_experience_name
        if check_name(name) != name:
            raise InvalidNameError(
                f"experience name {name!r} is not NFC", hint="use the name that check_name returns"
            )
        if (twin := seen.setdefault(fold(name), name)) != name or names[name] > 1:
            raise RefusedError(
                f"two items of the plan write one target: {twin!r} and {name!r}",
                hint="merge them, or make two plans",
            )
        _check_item(item, limits)


def check_twins(created: Sequence[str], existing: Sequence[str]) -> None:
    """Refuse new names that are existing ones but for case or Unicode form: some systems mix them up."""
    if not created:
        return
    # folded in one go: ten thousand calls would take longer than all the rest of a plan
    folded = fold("\0".join(existing)).split("\0")
    known = dict(zip(folded, existing, strict=True)) if existing else {}
    for name in created:
        if known.get(fold(name), name) != name:
            twin = known[fold(name)]
            raise RefusedError(
                f"experience {name!r} would be the twin of {twin!r}",
                hint=f"update {twin!r}, or choose another name",
            )


def _check_item(item: PolicyPlanItem, limits: Limits) -> None:
    where = item.target_experience_uri
    if item.kind == "delete_experience":
        if item.before_content is None or item.after_content is not None:
            raise UsageError(f"{where}: a deletion has the file before and none after")
        return
    if item.after_content is None:
        raise UsageError(f"{where}: an upsert has the file after", hint="delete_experience deletes")
    check_text(item.before_content or "", item.after_content, where, limits)


def check_size(data: bytes, where: str, limits: Limits) -> None:
    """Raise LimitError for a file that is too long for an experience."""
    _limit(f"{where}: bytes", len(data), limits.file_bytes)
    _limit(f"{where}: lines", data.count(b"\n") + (not data.endswith(b"\n")), limits.file_lines)


def check_text(before: str, after: str, where: str, limits: Limits) -> None:
    """Raise the typed error of the first thing in a text that may not be written.

    Invisible text that was there before may stay: it is a person's.
    """
    try:
        data = after.encode()
    except UnicodeEncodeError as error:
        raise RefusedError(f"{where}: a lone surrogate at character {error.start} is no text") from error
    check_size(data, where, limits)
    known = Counter(kind + before[start:end] for start, end, kind in invisible_spans(before))
    for start, end, kind in invisible_spans(after):
        key = kind + after[start:end]
        known[key] -= 1
        if known[key] < 0:
            line = after.count("\n", 0, start) + 1
            codes = " ".join(f"U+{ord(c):04X}" for c in after[start:end][:4])
            raise RefusedError(
                f"{where}, line {line}: invisible text ({kind}, {codes})",
                hint="a reader cannot see what an agent would: remove it",
            )
    Document.parse(after, where)


def _limit(what: str, value: int, limit: int) -> None:
    if value > limit:
        raise LimitError(
            f"{what}: {value}, the limit is {limit}", hint="raise it under [limits] in xp.toml, or split"
        )
