"""One plan against its record: ids, trailers, prose, limits, and the evidence that it cites."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xpstore import guards, layout, merge_check
from xpstore.errors import FormatError, NotFoundError, XpError
from xpstore.events import claims, stamps
from xpstore.hashing import content_id
from xpstore.history import reachable_plan_ids
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan, digest_of, plan_id_of
from xpstore.record import OPTIONAL, PLAN_FIELDS, checksum_of, trailers_of
from xpstore.trailers import format_message, parse_trailers, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xpstore.carried import Texts
    from xpstore.config import StoreConfig
    from xpstore.events import Entry, Stamp
    from xpstore.evidence_check import Evidence
    from xpstore.location import Location

Record = dict[str, object]


@dataclass(frozen=True, slots=True)
class Found:
    """A plan's record and what is wrong with it and its evidence."""

    record: Record
    """Empty where there is none."""
    patches: tuple[str, ...]
    """Paths in the evidence branch."""
    problems: tuple[str, ...]
    notes: tuple[str, ...] = ()


def find(shelf: Evidence, stamp: Stamp) -> Found:
    """Find the record that a commit's trailers name and check it with all that it cites."""
    plan_id, digest = stamp.plan_id, stamp.get("Plan-Digest")
    path = layout.record_path(plan_id, digest)
    problems: list[str] = []
    if path not in shelf.files:
        path, problem = _another(shelf, stamp)
        problems.append(problem)
        if not path:
            return Found({}, (), tuple(problems))
    try:
        record = shelf.json(path)
        _complete(record)
        problems += _ids(record, path)
        patches = _patches(shelf, path, record, problems)
        notes = _cited(shelf, record, patches, problems)
    except (FormatError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        reason = error.message if isinstance(error, FormatError) else f"no usable {error}"
        return Found({}, (), (*problems, f"{path} was altered: {reason}"))
    return Found(record, tuple(patches), tuple(problems), tuple(notes))


def _complete(record: Record) -> None:
    """Raise KeyError or TypeError where a record has not all that belongs to one."""
    for key in sorted(PLAN_FIELDS - OPTIONAL - record.keys()):
        raise KeyError(key)
    if not stamps(format_message("", "", trailers_of(record)), str(record["store_id"])):
        raise TypeError("plan_id")


def _another(shelf: Evidence, stamp: Stamp) -> tuple[str, str]:
    """Find the record of a plan one of whose two ids in the trailers is not the recorded one."""
    plan_id, digest = stamp.plan_id, stamp.get("Plan-Digest")
    wanted = layout.record_path(plan_id, digest or "(no digest)")
    by_plan = [p for p in shelf.below(layout.plan_folder(plan_id)) if p.endswith(".json")]
    if by_plan:
        known = by_plan[0].rpartition("/")[2].removesuffix(".json")
        if not digest:
            return by_plan[0], f"the trailer Plan-Digest is missing; the record has {known}"
        return by_plan[0], (
            f"the trailer Plan-Digest is {digest}, the record has {known} (or {wanted} is missing)"
        )
    by_digest = [p for p in shelf.below("gradients") if digest and p.endswith(f"/{digest}.json")]
    if by_digest:
        known = by_digest[0].split("/")[-2]
        given = plan_id or stamp.get("Plan-Id") or "missing"
        return by_digest[0], f"the trailer Plan-Id is {given}, the record has {known}"
    return "", f"{wanted} is missing in the evidence branch"


def _ids(record: Record, path: str) -> Iterator[str]:
    landed = [
        [item["kind"], item["target_experience_name"], item["base_blob"], item["result_blob"]]
        for item in _objects(record["items"])
    ]
    gradients = [str(g) for g in _list(record["gradients"])]
    rows = [[str(value) for value in row] for row in landed]
    digest = digest_of(rows, str(record["rationale"]), str(record["plan_id"]))
    folder, name = path.split("/")[-2:]
    if checksum_of(record) != record["checksum"]:
        yield f"{path} was altered: its content has the checksum {checksum_of(record)}"
    if folder != record["plan_id"]:
        yield f"{path} was altered: it is the record of plan {record['plan_id']}"
    planned = [[str(value) for value in _list(row)] for row in _list(record.get("planned", []))]
    plan_id = plan_id_of(record, gradients, planned or rows)
    if plan_id != record["plan_id"]:
        yield f"{path} was altered: its content has the plan id {plan_id}"
    if f"{digest}.json" != name or digest != record["digest"]:
        yield f"{path} was altered: its content has the digest {digest}"


def _patches(shelf: Evidence, path: str, record: Record, problems: list[str]) -> list[str]:
    """Return the plan's patches; every one must be sound, and every gradient must have one."""
    folder = path.rpartition("/")[0]
    found: list[str] = []
    ids = set()
    for patch in shelf.below(folder):
        if not patch.endswith(".patch"):
            continue
        problem = shelf.problem(patch)
        if problem:
            problems.append(problem)
        else:
            found.append(patch)
            ids.add(shelf.gradient(patch).id)
    missing = [str(g) for g in _list(record["gradients"]) if g not in ids]
    problems += [f"the patch of gradient {g} is missing in {folder}, or was altered" for g in missing]
    return found


def _cited(shelf: Evidence, record: Record, patches: Sequence[str], problems: list[str]) -> list[str]:
    """Check rollouts, cases, notes and ledger events; return what was forgotten."""
    notes: list[str] = []
    own = {str(g) for g in _list(record["gradients"])}
    gradients = [g for g in map(shelf.gradient, patches) if g.id in own]
    rollouts = [str(r["id"]) for r in _objects(record["rollouts"])]
    rollouts += [r for g in gradients for r in g.rollouts if r not in rollouts]
    for rollout in dict.fromkeys(rollouts):
        if shelf.is_forgotten(rollout):
            notes.append(f"rollout {rollout} was forgotten")
            continue
        problems += _rollout(shelf, rollout, record)
    uris = dict.fromkeys(uri for g in gradients for uri in g.evidence_trajectory_uris)
    for uri in uris:
        if shelf.is_forgotten(layout.subject_of(uri)):
            notes.append(f"{uri} was forgotten")
        elif problem := shelf.problem(uri):
            problems.append(problem)
    return notes


def _rollout(shelf: Evidence, rollout: str, record: Record) -> Iterator[str]:
    path = layout.rollout_path(rollout)
    if problem := shelf.problem(path):
        yield problem
    else:
        case = shelf.json(path).get("case")
        if case is not None and (problem := shelf.problem(layout.case_path(content_id(case)))):
            yield f"rollout {rollout}: {problem}"
    if not any(e.get("plan") == record["plan_id"] for e in _planned(shelf, rollout)):
        yield f"the ledger of rollout {rollout} has no event that plan {record['plan_id']} cites it"


def _planned(shelf: Evidence, rollout: str) -> list[Record]:
    """Return the `planned` events of a rollout; altered ones do not count."""
    paths = [p for p in shelf.below(layout.ledger_folder(rollout)) if not shelf.problem(p)]
    return [e for e in map(shelf.json, paths) if e.get("event") == "planned"]


def message_problems(shelf: Evidence, entry: Entry, found: Found) -> list[str]:
    """Compare the trailers and the rationale of the commit of a single plan with the record."""
    if not found.record:
        return []
    problems = []
    message = format_message("", "", trailers_of(found.record))  # as it was written, odd characters gone
    expected = stamps(message, str(found.record["store_id"]))[0].fields
    actual = dict(entry.stamps[0].fields)
    for above in (c for c in claims(entry.message) if not c.plan_id and c != entry.stamps[0]):
        actual |= {key: (*values, *actual.get(key, ())) for key, values in above.fields.items()}
    for key in dict.fromkeys([*expected, *actual]):
        if key in {"Plan-Id", "Plan-Digest"} and len(actual.get(key, ())) < 2:
            continue  # named where the record was looked for
        is_, was = ", ".join(actual.get(key, ())), ", ".join(expected.get(key, ()))
        if is_ != was and not is_another_try(shelf, entry, found.record, key, is_):
            problems.append(f"the trailer {key} is {is_ or 'missing'}, the record has {was or 'none'}")
    prose = " ".join(quote(str(found.record["rationale"])).split())
    if prose not in " ".join(entry.message.split()):
        problems.append("the rationale in the message is not the recorded one")
    return problems


def squash_problems(stamp: Stamp, found: Found) -> list[str]:
    """Compare the trailers of one plan of a squash with its record.

    Messages of people may stand between those of plans, so more values than the recorded ones are fine. So
    are missing trailers, and those that differ when a plan is tried again.
    """
    if not found.record:
        return []
    problems = []
    for key, was in parse_trailers(format_message("", "", trailers_of(found.record))).items():
        given = stamp.fields.get(key, was)
        if key not in {"Plan-Id", "Plan-Digest", "Base-Commit", "Run-Id"} and not {*was} <= {*given}:
            problems.append(f"the trailer {key} is {', '.join(given)}, the record has {', '.join(was)}")
    return problems


def nameless_problems(shelf: Evidence, entry: Entry, stamp: Stamp, found: Found) -> list[str]:
    """Say what is wrong with the trailers of a commit that only its results show to be this plan.

    None is fine, as where a hosting site kept the title; some, of which none leads to the record, are not.
    """
    given = claims(entry.message)
    if not given:
        return []
    ids = [i for c in given for i in c.fields.get("Plan-Id", ())]
    problems = [f"the trailer Plan-Id is {', '.join(ids) or 'missing'}, the record has {stamp.plan_id}"]
    if len(entry.stamps) == len(given) == 1:
        problems += message_problems(shelf, replace(entry, stamps=given), found)
    return problems


def is_another_try(shelf: Evidence, entry: Entry, record: Record, key: str, value: str) -> bool:
    """Return whether a trailer may differ: a plan that was tried again keeps the record of its first try."""
    noted = {"Run-Id": "run", "Base-Commit": "base"}.get(key)
    if not noted:
        return False
    rollouts = [str(r["id"]) for r in _objects(record["rollouts"])]
    tries = [e for r in rollouts for e in _planned(shelf, r) if e.get("plan") == record["plan_id"]]
    if any(e.get(noted) == value for e in tries):
        return True
    return key == "Base-Commit" and _has_bases(shelf.loc, entry, record, value)


def _has_bases(loc: Location, entry: Entry, record: Record, value: str) -> bool:
    """Return whether a plan can have been made on a commit: it has the plan's bases and was before it.

    Where plans of one group are stacked, it is the commit of another one, and may have been made again since.
    """
    try:
        loc.repo.resolve(value)
    except NotFoundError:
        return False
    tree, here = loc.repo.commit(value).tree, loc.at(value)
    for item in _objects(record["items"]):
        found = loc.repo.entry(
            tree, here.in_tree(f"{layout.EXPERIENCES}/{item['target_experience_name']}.md")
        )
        if (found.id if found else "0" * 40) != item["base_blob"]:
            return False
    if loc.repo.is_ancestor(value, entry.commit):
        return True
    stacked = {s.plan_id for s in stamps(loc.repo.commit(value).message, loc.config.id)}
    return bool(stacked) and stacked <= reachable_plan_ids(loc, [entry.commit])


def message_notes(entry: Entry, found: Found) -> list[str]:
    """Say where the subject was edited, as hosting sites do."""
    subject = str(found.record.get("subject", ""))
    return [f"the subject was {subject!r}"] if subject and subject not in entry.subject else []


def limit_problems(found: Found, config: StoreConfig, texts: Texts) -> list[str]:
    """Check the recorded plan against the guards, with the configuration of its own time."""
    if not found.record:
        return []
    try:
        plan = _plan(found.record, texts)
    except (KeyError, TypeError, ValueError):
        return []  # texts that git dropped, or a record that is reported as altered
    try:
        guards.check_plan(plan, config)
    except XpError as error:
        return [f"the plan may not be written: {error.message}"]
    return []


def merge_findings(found: Found, texts: Texts) -> tuple[list[str], list[str]]:
    """Return what is wrong with the merges on record, and which of them can no longer be checked."""
    try:
        return merge_check.problems(found.record, texts)
    except (KeyError, TypeError, ValueError) as error:
        return [f"the merges on record have no form that is known: {error}"], []


def _plan(record: Mapping[str, object], texts: Texts) -> PolicyUpdatePlan:
    items = [
        PolicyPlanItem.model_validate(
            {
                "kind": item["kind"],
                "target_experience_name": item["target_experience_name"],
                "before_content": texts.get(_blob(item["base_blob"])),
                "after_content": texts.get(_blob(item["result_blob"])),
            }
        )
        for item in _objects(record["items"])
    ]
    return PolicyUpdatePlan(items=tuple(items), store_id=str(record["store_id"]))


def _blob(value: object) -> str:
    return "" if value == "0" * 40 else str(value)


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("list")
    return value


def _objects(value: object) -> list[Record]:
    found = [item for item in _list(value) if isinstance(item, dict)]
    if len(found) != len(_list(value)):
        raise TypeError("object in a list")
    return found
