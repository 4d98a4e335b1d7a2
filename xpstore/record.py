"""PolicyUpdatePlan ↔ commit and record: an event can be read back as the value it was.

The commit's diff has kind, name and texts of the items; the message has what people read and the
trailers; the patches have the gradients. The record keeps the rest, and the blob ids once more, so that a
plan is known again where a hosting site squashed its commit.

A plan that is tried again has the same folder. The records of the first try stay; what may differ between
the tries (`base_commit`, `run_id`) is read from the commit's own trailers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import evidence, layout
from xpstore.errors import FormatError, NotFoundError
from xpstore.evidence import EvidenceFile
from xpstore.hashing import blob_id, content_id
from xpstore.patchfile import read_patch, write_patch
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan
from xpstore.trailers import format_message, parse_trailers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from xpstore.gradient import PatchSemanticGradient
    from xpstore.location import Location

FORMAT = 1
PLAN_FIELDS = set(PolicyUpdatePlan.model_fields) - {"items", "gradients"}
OPTIONAL = {"merges", "planned"}
"""The fields of PLAN_FIELDS that only the record of a plan has which landed otherwise than it was made."""
ITEM_FIELDS = set(PolicyPlanItem.model_fields) - {"before_content", "after_content"}


@dataclass(frozen=True, slots=True)
class Rendered:
    """A plan and what is written of it: its commit's message and its evidence."""

    plan: PolicyUpdatePlan
    message: str
    files: tuple[EvidenceFile, ...]


def render(plan: PolicyUpdatePlan) -> Rendered:
    """Return a plan as it is written. Raises FormatError where a gradient cannot be a patch."""
    return Rendered(plan, to_commit_message(plan), tuple(evidence_files(plan)))


def to_commit_message(plan: PolicyUpdatePlan) -> str:
    """Return the message: a subject for people, the rationale, the trailers."""
    return format_message(plan.subject or default_subject(plan), plan.rationale, trailers(plan))


def default_subject(plan: PolicyUpdatePlan) -> str:
    """Return a subject made from the names of the items."""
    verbs = dict.fromkeys(_verb(item) for item in plan.items)
    names = ", ".join(item.target_experience_name for item in plan.items[:3])
    more = f" and {len(plan.items) - 3} more" if len(plan.items) > 3 else ""
    return f"{' and '.join(verbs).capitalize()} {names}{more}"


def _verb(item: PolicyPlanItem) -> str:
    if item.kind == "delete_experience":
        return "delete"
    return "add" if item.before_content is None else "update"


def trailers(plan: PolicyUpdatePlan) -> list[tuple[str, str]]:
    """Return the trailers of a plan's commit, in their order; empty ones are left out."""
    return trailers_of(record_of(plan))


def trailers_of(record: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return the trailers that belong to a plan's record; see `trailers`."""
    cited, reverts = record["rollouts"], record["reverts"]
    rollouts = cited if isinstance(cited, list) else []
    passed = sum(isinstance(r, dict) and r.get("passed") is True for r in rollouts)
    lines = [
        ("Plan-Id", record["plan_id"]),
        ("Plan-Digest", record["digest"]),
        ("Base-Commit", record["base_commit"]),
        ("Store", record["store_id"]),
        ("Run-Id", record["run_id"]),
        ("Learner", record["learner"]),
        ("Rollouts", f"{len(rollouts)} passed={passed}" if rollouts else ""),
        *(("Reverts-Plan", plan_id) for plan_id in (reverts if isinstance(reverts, list) else [])),
        ("Resolved-By", record["resolved_by"]),
        ("Suspect", record["suspect"]),
    ]
    return [(key, str(value)) for key, value in lines if value]


def record_of(plan: PolicyUpdatePlan) -> dict[str, object]:
    """Return the record of a plan as JSON: all but the texts of items and gradients, and a checksum of it."""
    record: dict[str, object] = {
        "format": FORMAT,
        "plan_id": plan.plan_id,
        "digest": plan.digest,
        "gradients": [g.id for g in plan.gradients],
        "items": [
            {
                "base_blob": item.base_blob,
                "result_blob": item.result_blob,
                **item.model_dump(mode="json", include=ITEM_FIELDS),
            }
            for item in plan.items
        ],
        **{
            key: value
            for key, value in plan.model_dump(mode="json", include=PLAN_FIELDS).items()
            if value or key not in OPTIONAL
        },
    }
    return {**record, "checksum": checksum_of(record)}


def checksum_of(record: Mapping[str, object]) -> str:
    """Return the hash of everything in a record but its checksum: the digest covers only what lands."""
    return content_id({key: value for key, value in record.items() if key != "checksum"})


def evidence_files(plan: PolicyUpdatePlan) -> list[EvidenceFile]:
    """Return the plan's patches, its record, and one `planned` event per rollout it cites."""
    folder = layout.plan_folder(plan.plan_id)
    files = [EvidenceFile(f"{folder}/{name}", write_patch(g)) for name, g in _patch_names(plan).items()]
    files.append(evidence.json_file(layout.record_path(plan.plan_id, plan.digest), record_of(plan)))
    event = {"event": "planned", "learner": plan.learner, "plan": plan.plan_id, "run": plan.run_id}
    if plan.base_commit:
        event["base"] = plan.base_commit
    return files + [evidence.ledger_file(r.id, event) for r in dict.fromkeys(plan.rollouts)]


def _patch_names(plan: PolicyUpdatePlan) -> dict[str, PatchSemanticGradient]:
    """Name the patch files. Numbered by id, not by place: a try with another order makes the same files."""
    unique = {g.id: g for g in plan.gradients}
    return {
        f"{number:02}-{unique[gradient_id].target_experience_name}.patch": unique[gradient_id]
        for number, gradient_id in enumerate(sorted(unique), start=1)
    }


def plan_from(loc: Location, commit_id: str) -> PolicyUpdatePlan:
    """Return the plan that a commit is. The identity on what `commit.commit` writes.

    Raises NotFoundError where the commit is no plan or its evidence is missing, FormatError where the
    evidence cannot be read. Nothing is verified here.
    """
    commit = loc.repo.commit(commit_id)
    lines = parse_trailers(commit.message)
    if "Plan-Id" not in lines or "Plan-Digest" not in lines:
        raise NotFoundError(f"commit {commit_id} is no plan", hint="xp log lists the plans")
    path = layout.record_path(lines["Plan-Id"][0], lines["Plan-Digest"][0])
    data = evidence.read(loc, path)
    if data is None:
        raise NotFoundError(f"no {path} in {loc.evidence_ref}", hint="fetch the evidence branch")
    record = evidence.parse_json(data, path)
    if record.get("format") != FORMAT:
        raise FormatError(f"{path} has format {record.get('format')!r}", hint="update xpstore")
    plan = _plan(loc, path, record, _Texts(loc, commit_id).item)
    return plan if parse_trailers(to_commit_message(plan)) == lines else _as_landed(plan, lines)


def plan_on_record(loc: Location, plan_id: str, digest: str) -> PolicyUpdatePlan:
    """Return a plan from the record of one landing of it, whether or not any branch has its commit.

    Raises NotFoundError where there is no such record, RepositoryError where the repository has not the pages
    that it names, FormatError where it is no record.
    """
    path = layout.record_path(plan_id, digest)
    data = evidence.read(loc, path)
    if data is None:
        raise NotFoundError(f"no {path} in {loc.evidence_ref}", hint="fetch the evidence branch")

    def item(row: Mapping[str, object]) -> PolicyPlanItem:
        fields = {name: row[name] for name in ITEM_FIELDS}
        before, after = (
            None if str(row[side]) == blob_id(None) else loc.repo.blob(str(row[side])).decode()
            for side in ("base_blob", "result_blob")
        )
        return PolicyPlanItem.model_validate({**fields, "before_content": before, "after_content": after})

    return _plan(loc, path, evidence.parse_json(data, path), item)


def _as_landed(plan: PolicyUpdatePlan, lines: Mapping[str, tuple[str, ...]]) -> PolicyUpdatePlan:
    values = {name: getattr(plan, name) for name in PolicyUpdatePlan.model_fields}
    values["base_commit"] = lines.get("Base-Commit", (None,))[0]
    values["run_id"] = lines.get("Run-Id", ("",))[0]
    return PolicyUpdatePlan(**values)


def _plan(
    loc: Location,
    path: str,
    record: Mapping[str, object],
    item: Callable[[Mapping[str, object]], PolicyPlanItem],
) -> PolicyUpdatePlan:
    """Return the plan of a record; `item` makes an item of its row, with the texts."""
    try:
        fields = {name: record[name] for name in PLAN_FIELDS if name in record or name not in OPTIONAL}
        items = record["items"]
        gradient_ids = record["gradients"]
        if not isinstance(items, list) or not isinstance(gradient_ids, list):
            raise TypeError("items and gradients are lists")  # noqa: TRY301  # one message for all shapes
        gradients = _gradients(loc, str(record["plan_id"])) if gradient_ids else {}
        missing = [i for i in gradient_ids if i not in gradients]
        if missing:
            raise NotFoundError(f"gradient {missing[0]} of {path} is missing", hint="see xp verify")
        return PolicyUpdatePlan.model_validate(
            {
                **fields,
                "items": [item(row) for row in items],
                "gradients": [gradients[i] for i in gradient_ids],
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path} is no plan record: {error}", hint="see xp verify") from error


def _gradients(loc: Location, plan_id: str) -> dict[str, PatchSemanticGradient]:
    found = (read_patch(data, name) for name, data in evidence.patches(loc, plan_id).items())
    return {gradient.id: gradient for gradient in found}


class _Texts:
    """The two sides of a commit's diff."""

    def __init__(self, loc: Location, commit_id: str) -> None:
        self._loc = loc.at(commit_id)
        commit = loc.repo.commit(commit_id)
        parent = commit.parents[0] if commit.parents else None
        self._sides = (loc.repo.commit(parent).tree if parent else None, commit.tree)

    def item(self, row: Mapping[str, object]) -> PolicyPlanItem:
        """Return an item of the record with its texts."""
        fields = {name: row[name] for name in ITEM_FIELDS}
        path = self._loc.in_tree(f"{layout.EXPERIENCES}/{fields['target_experience_name']}.md")
        before, after = (self._text(tree, path) for tree in self._sides)
        return PolicyPlanItem.model_validate({**fields, "before_content": before, "after_content": after})

    def _text(self, tree: str | None, path: str) -> str | None:
        entry = self._loc.repo.entry(tree, path) if tree else None
        return self._loc.repo.blob(entry.id).decode() if entry and entry.is_file else None
