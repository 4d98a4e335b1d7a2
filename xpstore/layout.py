"""Where everything lives: paths in the branches and names of the refs. Pure strings.

    main and candidates   [<prefix>/]xp.toml, [<prefix>/]experiences/<name>.md, [<prefix>/]cases/<suite>.jsonl
    evidence branch       rollouts/ cases/ trajectories/ gradients/ ledger/ evaluations/ gates/ tombstones/

Every folder of the evidence branch is sharded by the first two hex digits of an id, so that no
directory grows without bound and nothing depends on a clock.
"""

from __future__ import annotations

import re

CONFIG = "xp.toml"
EXPERIENCES = "experiences"
CASES = "cases"
README = "README.md"
HEADS = "refs/heads/"
REMOTES = "refs/remotes/"
GATES = "gates"
"""The folder of the evidence branch with what gates have decided."""
TOMBSTONES = "tombstones"
"""The folder of the evidence branch that names what was forgotten."""
RESERVED_STORE_NAMES = frozenset({"evidence", "conflict"})
"""A store of such a name would need the branch `xp/<name>/evidence` below another branch."""
_ID = r"[0-9a-f]*"
_EVIDENCE = re.compile(
    r"generation"
    rf"|(?:rollouts|cases)/([0-9a-f]{{2}})/\1{_ID}\.json"
    rf"|trajectories/([0-9a-f]{{2}})/\2{_ID}\.md"
    rf"|gradients/([0-9a-f]{{2}})/\3{_ID}/[^/]+\.(?:json|patch)"
    rf"|ledger/([0-9a-f]{{2}})/\4{_ID}/{_ID}\.json"
    rf"|evaluations/([0-9a-f]{{2}})/\5{_ID}\.{_ID}\.json"
    rf"|{GATES}/([0-9a-f]{{2}})/\6{_ID}(?:\.json|\.{_ID}\.sig)"
    rf"|{TOMBSTONES}/([0-9a-f]{{2}})/\7{_ID}"
)
"""The shard is the beginning of the id."""


def join(prefix: str, path: str) -> str:
    """Return a store path as a path of the repository; "" is the root on either side."""
    return f"{prefix}/{path}" if prefix and path else prefix or path


def sharded(kind: str, item_id: str, suffix: str = "") -> str:
    """Return `<kind>/<ab>/<id><suffix>`."""
    return f"{kind}/{item_id[:2]}/{item_id}{suffix}"


def rollout_path(rollout_id: str) -> str:
    """Return where a rollout is kept in the evidence branch."""
    return sharded("rollouts", rollout_id, ".json")


def case_path(case_id: str) -> str:
    """Return where a case is kept in the evidence branch."""
    return sharded("cases", case_id, ".json")


def trajectory_path(trajectory_id: str) -> str:
    """Return where the note on an analysed rollout is kept in the evidence branch."""
    return sharded("trajectories", trajectory_id, ".md")


def evaluation_path(key: str, record_id: str) -> str:
    """Return where a repetition of the evaluation under a key is kept in the evidence branch."""
    return sharded("evaluations", key, f".{record_id}.json")


def gate_path(record_id: str) -> str:
    """Return where a decision of a gate is kept in the evidence branch."""
    return sharded(GATES, record_id, ".json")


def plan_folder(plan_id: str) -> str:
    """Return the folder of a plan's patches and records in the evidence branch."""
    return sharded("gradients", plan_id)


def record_path(plan_id: str, digest: str) -> str:
    """Return where the record of one landing of a plan is kept in the evidence branch."""
    return f"{plan_folder(plan_id)}/{digest}.json"


def ledger_folder(rollout_id: str) -> str:
    """Return the folder of a rollout's events in the evidence branch."""
    return sharded("ledger", rollout_id)


def tombstone_path(item_id: str) -> str:
    """Return the file whose presence forbids that evidence on this id ever comes back."""
    return sharded(TOMBSTONES, item_id)


def subject_of(path: str) -> str:
    """Return the id of the rollout, case or note that an evidence file is about; "" for the others."""
    kind, *rest = path.split("/")
    if kind == "ledger" and len(rest) == 3:
        return rest[1]
    if kind in {"rollouts", "cases", "trajectories"} and len(rest) == 2:
        return rest[1].rpartition(".")[0]
    return ""


def is_evidence(path: str) -> bool:
    """Return whether a file of the evidence branch may be called so."""
    return _EVIDENCE.fullmatch(path) is not None


def evidence_ref(store_name: str) -> str:
    """Return the ref of the evidence branch; the first store of a repository has no name."""
    return f"{HEADS}xp/{store_name}/evidence" if store_name else f"{HEADS}xp/evidence"


def notes_ref(store_name: str) -> str:
    """Return the ref of the evaluation notes, the view for `git log --notes`."""
    return f"refs/notes/xp-eval-{store_name}" if store_name else "refs/notes/xp-eval"


def candidate_prefix(store_name: str) -> str:
    """Return what the branches of training runs start with."""
    return f"train/{store_name}/" if store_name else "train/"
