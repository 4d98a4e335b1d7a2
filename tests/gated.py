"""A store with a gate suite, and decisions of a gate on it that were never measured: figures by hand."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.builders import git, identify, make_store
from tests.hooking import opened, write_page
from tests.trainer.case_store import write_suites
from trainer.gate.decide import decide
from trainer.suite import load_suites, suite_digest
from xpstore import evaluation, evidence, gate_record, signing
from xpstore.evaluation import EvaluationKey, EvaluationRecord, TrialResult, experiences_at
from xpstore.gate_record import GateRecord
from xpstore.gate_signature import NAMESPACE, signature_path
from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

CASES = [f"case-{number:02}" for number in range(12)]
HARM = CASES[:7]
"""So many cases that fail where they passed are no chance."""


@dataclass(frozen=True)
class Desk:
    """A clone, the bare repository that it shares, and the key of whoever measures."""

    loc: Location
    key: Path

    @property
    def root(self) -> Path:
        assert self.loc.repo.workdir
        return self.loc.repo.workdir

    @property
    def main(self) -> str:
        """The commit of main, here."""
        return git(self.root, "rev-parse", "main")

    def learn(self, name: str, *approach: str) -> str:
        """Commit a page on the branch that is checked out; return the commit."""
        write_page(self.root, name, *approach, folder=self.loc.in_tree("experiences"))
        git(self.root, "commit", "-q", "-m", f"Teach {name}")
        return git(self.root, "rev-parse", "HEAD")

    def measure(
        self, commit: str, failing: Collection[str] = (), *, trials: int = 4, suite: str = "gate"
    ) -> str:
        """Put an evaluation of a commit on record, and a note; return its path in the evidence."""
        cases = load_suites(self.loc, commit, suite)[suite]
        seeds = tuple(range(trials))
        key = EvaluationKey(
            experiences=experiences_at(self.loc, commit),
            suite=suite,
            suite_digest=suite_digest(cases),
            trials=trials,
            seeds=seeds,
            agent="double",
        )
        results = tuple(
            TrialResult(
                case=case.id,
                name=case.name,
                trial=n,
                seed=n,
                passed=case.name not in failing,
                score=float(case.name not in failing),
            )
            for case in cases
            for n in seeds
        )
        record = EvaluationRecord(key=key, commit=commit, results=results)
        evaluation.write(self.loc, record)
        return evaluation.record_path(record)

    def gate(self, old: str, new: str, failing: Collection[str] = (), **fields: object) -> GateRecord:
        """Put the decision on a candidate on record, as the gate makes it unless `fields` say otherwise."""
        trials = fields.get("trials", 4)
        assert isinstance(trials, int)
        paths = self.measure(old, trials=trials), self.measure(new, failing, trials=trials)
        before, after = (evaluation.read_record(evidence.read(self.loc, p) or b"", p) for p in paths)
        found = decide(before, after, self.loc.config.gate)
        values = {
            "candidate": new,
            "against": old,
            "experiences": after.key.experiences,
            "baseline": before.key.experiences,
            "suite": after.key.suite,
            "suite_digest": after.key.suite_digest,
            "trials": trials,
            "policy": self.loc.config.gate,
            "evaluations": paths,
            "decision": found.decision,
            "progress": found.progress,
            "reason": found.reason,
        }
        record = GateRecord.model_validate(values | fields)
        gate_record.write(self.loc, record)
        return record

    def sign(self, record: GateRecord, *, key: Path | None = None, namespace: str = NAMESPACE) -> None:
        """Sign a decision as those do who have measured."""
        file = gate_record.as_file(record)
        made = signing.sign(file.data, namespace, str(key or self.key))
        self.attach(record, made)

    def attach(self, record: GateRecord, signature: str) -> None:
        """Put a signature beside a decision, whatever it is of."""
        path = signature_path(gate_record.record_path(record), signature)
        evidence.write(self.loc, [evidence.EvidenceFile(path, signature.encode())], "Sign")

    def accepted(self, old: str, new: str) -> GateRecord:
        """Put a signed decision on record that lets a candidate in."""
        record = self.gate(old, new)
        assert record.decision == "accept"
        self.sign(record)
        return record

    def at_prefix(self, prefix: str) -> Desk:
        """Return the same for a store that is elsewhere in the repository."""
        return replace(self, loc=replace(self.loc, prefix=prefix))


def make_key(folder: Path, name: str = "key") -> Path:
    """Make a key without a passphrase; return its file."""
    file = folder / name
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(file)]
    subprocess.run(command, check=True)
    return file


def make_desk(folder: Path, prefix: str = "") -> Desk:
    """Make a store with twelve gate cases and one page, and a key."""
    root = folder / "clone"
    if prefix:
        git(folder, "init", "-q", "-b", "main", "clone")
    loc = make_store(root / prefix)
    write_suites(root / prefix, gate=CASES)
    desk = Desk(loc, make_key(folder))
    desk.learn("begin", "Say hello.")
    return desk


def copied(template: Path, folder: Path, prefix: str = "") -> Desk:
    """Return a desk that was made before, in another folder."""
    shutil.copytree(template, folder, symlinks=True, dirs_exist_ok=True)
    return Desk(Location.find(folder / "clone" / prefix), folder / "key")


def make_server(desk: Desk, path: Path) -> Path:
    """Make the bare repository of a desk, with its main, which trusts the desk's key; return its folder."""
    git(desk.root, "clone", "-q", "--bare", ".", str(path))
    public = desk.key.with_suffix(".pub").read_text()
    (path / "signers").write_text(f'ci@example.org namespaces="xp-gate" {public}')
    git(path, "config", "xp.allowedSigners", "signers")
    identify(path)
    git(desk.root, "remote", "add", "origin", str(path))
    return path


def server_store(path: Path) -> Location:
    """Return the store in a bare repository."""
    return Location.find(opened(path).git_dir)
