"""May a decision of a gate be believed? Whoever can push evidence can write one: it is checked.

1. It is decided again, from the two evaluations that it names, by the rules of main as it is now.
2. It is on the cases of main as it is now.
3. Somebody stands for the figures: a key of the allowed signers has signed the record, or this server has
   measured itself and holds the record in its own folder, where no push can write.

The record's id covers the names of both evaluations, and their names cover their content.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from hooks.trust import SIGNERS
from trainer.environment import world_id
from trainer.suite import load_suites, suite_digest
from xpstore import evaluation, gate_record, layout, signing
from xpstore.errors import XpError
from xpstore.gate_signature import NAMESPACE, SUFFIX, prefix_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hooks.trust import Trust
    from trainer.gate.decide import GateDecision
    from xpstore.evaluation import EvaluationRecord
    from xpstore.gate_record import GateRecord
    from xpstore.location import Location

HELD = "xpstore.gates"
"""The folder of a git directory with the decisions that were made on this machine."""
MOST_SIGNATURES = 64
"""Signatures of one decision that are looked at."""
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Found:
    """A decision, where it was found, and its bytes."""

    record: GateRecord
    path: str
    data: bytes
    is_held: bool


class Disbelief(Exception):  # noqa: N818 - no error for people: another record may be better
    """Why a decision does not count, and what would."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.why, self.hint = why, hint


class Court:
    """Decides about decisions on what a branch may move to."""

    def __init__(self, loc: Location, old: str, evidence_tip: str | None, trust: Trust) -> None:
        """Judge by the rules and cases of commit `old`; `evidence_tip` may still be on its way here."""
        self._loc, self._old, self._signers, self._needs_gate = loc, old, trust.signers, trust.needs_gate
        self._tree = loc.repo.commit(evidence_tip).tree if evidence_tip else None
        self._held = loc.repo.common_dir / HELD

    def decisions(self, trees: set[str]) -> list[Found]:
        """Return the decisions that name one of these trees of experiences as the candidate's."""
        marks = [tree.encode() for tree in trees]
        found = {}
        for path, data, is_held in (*self._pushed(), *self._kept()):
            if any(mark in data for mark in marks):
                try:
                    record = gate_record.parse(data, path)
                except XpError:  # no decision of a gate, whatever it is called
                    continue
                if record.experiences in trees and (is_held or path not in found):
                    found[path] = Found(record, path, data, is_held)
        return list(found.values())

    def check(self, found: Found) -> None:
        """Raise Disbelief where a decision does not let its candidate in."""
        record, policy = found.record, self._loc.config.gate
        self._check_name(found)
        if record.decided_by == gate_record.NOBODY:
            raise Disbelief("it was landed without a gate", _GATE)
        if record.decision != "accept":
            raise Disbelief(f"the gate says {record.decision}: {record.reason}", _GATE)
        if record.leaks and policy.leaks == "refuse":
            raise Disbelief(f"it quotes cases that it must not know: {record.leaks[0]}", "learn without them")
        self._check_suite(record)
        self._check_source(found)
        self._check_figures(record)

    def check_word(self, found: Found) -> None:
        """Raise Disbelief where what a decision says of people does not count.

        Where the owner takes experiences without a gate, nobody stands for a record: to be there will do.
        """
        if self._needs_gate:
            self.check(found)
        else:
            self._check_name(found)

    def _check_name(self, found: Found) -> None:
        if gate_record.record_path(found.record) != found.path:
            raise Disbelief(f"{found.path} was altered: it is not what its name says")

    def _check_suite(self, record: GateRecord) -> None:
        policy = self._loc.config.gate
        if record.suite != policy.suite:
            raise Disbelief(f"it was measured on suite {record.suite!r}; {policy.suite!r} decides", _GATE)
        try:
            cases = load_suites(self._loc, self._old, policy.suite)[policy.suite]
        except XpError as error:
            raise Disbelief(error.message, error.hint) from error
        if record.suite_digest != suite_digest(cases):
            raise Disbelief("it was measured on other cases than main has", _GATE)

    def _check_figures(self, record: GateRecord) -> None:
        from trainer.gate.decide import decide  # noqa: PLC0415  # statistics take longer to load than all the rest

        before, after = (self._evaluation(path) for path in record.evaluations)
        keys = [(each.key.suite, each.key.suite_digest, each.key.trials) for each in (before, after)]
        if any(key != (record.suite, record.suite_digest, record.trials) for key in keys):
            raise Disbelief("its evaluations are of other cases than it says", _GATE)
        if (before.key.experiences, after.key.experiences) != (record.baseline, record.experiences):
            raise Disbelief("its evaluations are of other experiences than it says", _GATE)
        world = world_id(self._loc.config.environment)  # its agent and code are the same on both sides
        if world and after.key.environment != world:
            raise Disbelief(
                f"it was measured in {after.key.environment or 'no world'}, main names {world}", _GATE
            )
        try:
            again = decide(before, after, self._loc.config.gate, record.look)
        except XpError as error:
            raise Disbelief(error.message, error.hint) from error
        by_person = record.decided_by.startswith(gate_record.PERSON) and again.decision == "inconclusive"
        if again.decision != "accept" and not by_person:
            raise Disbelief(
                f"decided again, the gate says {again.decision}: {again.reason}{_worse(again)}", _GATE
            )

    def _check_source(self, found: Found) -> None:
        if found.is_held:
            return
        signatures = [*islice(self._signatures(found.path), MOST_SIGNATURES)]
        if not signatures:
            raise Disbelief("nobody has signed the gate's record", _SIGN)
        if self._signers is None or not self._signers.is_file():
            why = "is not set" if self._signers is None else "names no file"
            raise Disbelief(f"this server knows no signers: {SIGNERS} {why}", _SIGN)
        verdicts = (signing.verify(found.data, text, self._signers, NAMESPACE) for text in signatures)
        why = ""
        for verdict in verdicts:
            if verdict.state == "good":
                return
            why = verdict.reason
        raise Disbelief(f"the signature of the gate's record is not accepted: {why}", _SIGN)

    def _evaluation(self, path: str) -> EvaluationRecord:
        data = self._file(path) if path else None
        if data is None:
            raise Disbelief(
                "the evaluations that the gate's record names are not on record",
                "push the evidence too: xp sync",
            )
        try:
            record = evaluation.read_record(data, path)
        except XpError as error:
            raise Disbelief(error.message, error.hint) from error
        if evaluation.record_path(record) != path:
            raise Disbelief(f"{path} was altered: it is not what its name says")
        return record

    def _file(self, path: str) -> bytes | None:
        entry = self._loc.repo.entry(self._tree, path) if self._tree else None
        if entry and entry.is_file:
            return self._loc.repo.blob(entry.id)
        held = self._held / path.rpartition("/")[2]
        return held.read_bytes() if held.is_file() else None

    def _signatures(self, path: str) -> Iterator[str]:
        folder, _, start = prefix_of(path).rpartition("/")
        for entry in self._loc.repo.children(self._tree, folder) if self._tree else ():
            if entry.is_file and entry.name.startswith(start) and entry.name.endswith(SUFFIX):
                yield self._loc.repo.blob(entry.id).decode("utf-8", "replace")

    def _pushed(self) -> Iterator[tuple[str, bytes, bool]]:
        for path, blob in self._loc.repo.files(self._tree, layout.GATES) if self._tree else ():
            if path.endswith(".json"):
                yield path, self._loc.repo.blob(blob), False

    def _kept(self) -> Iterator[tuple[str, bytes, bool]]:
        for file in sorted(self._held.glob("*.json")):
            yield layout.gate_path(file.stem), file.read_bytes(), True


_GATE = "xp gate measures it; xp sync or xp publish brings the record here"
_SIGN = (
    "let somebody sign it (git config xp.signGates true, where it is measured) whose key this server knows"
    " (git config xp.allowedSigners FILE, on the server), or run xp gate --hold on the server"
)


def _worse(decision: GateDecision) -> str:
    """Return the cases that came out worse, for the one whose push is refused."""
    lost = [
        f"{c.name} {c.baseline}/{c.n} to {c.candidate}/{c.n}" for c in decision.changes if c.difference < 0
    ]
    more = f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
    return f"; worse: {', '.join(lost[:_SHOWN])}{more}" if lost else ""
