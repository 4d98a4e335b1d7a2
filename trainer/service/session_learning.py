"""What is learned from one commit of a session: messages → cases → rollouts → the streaming trainer.

Exactly once, however often it is tried: the first cases that were found stay (they are on record before a
rollout is made of them), a rollout's id is its content, and the ledger knows what has been learned. So what
came of a rollout is read from the ledger, not from who happened to be waiting for it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.domain import READ, Case, Rollout, Rubric
from trainer.errors import BatchError, ComponentError
from trainer.redaction import redact_rollout
from trainer.service.case_finding import (
    NO_WORK,
    CaseFinder,
    ExtractedCase,
    FoundCases,
    Spoken,
    spoken_of,
)
from trainer.service.memory_diff import KIND
from trainer.service.session_messages import experiences_in, to_messages
from trainer.service.session_uris import archive_name, archive_uri
from trainer.service.session_views import effective_types
from xpstore import evidence, history, inbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from trainer.components.streaming_trainer import StreamingPolicyTrainer
    from trainer.domain import Message, RolloutTrainingResult
    from trainer.service.session_rows import Archive
    from trainer.service.session_store import SessionStore
    from trainer.store_door import StoreDoor
    from xpstore.ledger import Event
    from xpstore.location import Location

SNAPSHOT = "session-commit"
"""What the policy snapshot id of such a rollout begins with (RFC §11.2)."""
NOT_WANTED = "the session's memory policy asks for no experiences"
BUSY = "another process is learning from it"
AGAIN = "POST /api/v1/tasks/{id}/retry tries it again, and so does the next start of xp serve"


@dataclass(frozen=True, slots=True)
class RolloutState:
    """What came of one rollout of a session."""

    rollout: str
    case: str
    plans: dict[str, str]
    """Plan id → commit; "" where no branch has it (any more)."""
    nothing: str = ""
    """Why nothing was learned from it."""
    failure: str = ""
    """What could not be done; it is still to be learned from."""
    lessons: int = 0
    """Pages that these plans wrote or deleted, as far as this process has made them."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of a commit."""

    rollouts: tuple[RolloutState, ...] = ()
    why: str = ""
    """Why there is no rollout."""

    @property
    def failures(self) -> list[str]:
        """What could not be done, each once."""
        return list(dict.fromkeys(state.failure for state in self.rollouts if state.failure))

    def as_json(self) -> dict[str, JsonValue]:
        """Return the part of a task's result that says what was learned, and where nothing was, why."""
        plans = {plan: commit for state in self.rollouts for plan, commit in state.plans.items()}
        nothing = {state.rollout: state.nothing for state in self.rollouts if state.nothing}
        reasons = list(dict.fromkeys(nothing.values()))
        commits: list[JsonValue] = [*dict.fromkeys(commit for commit in plans.values() if commit)]
        return {
            "plans": list(plans),
            "commits": commits,
            "rollouts": [
                {"rollout": s.rollout, "case": s.case, "plans": list(s.plans)} for s in self.rollouts
            ],
            "nothing": dict(nothing),
            "why_nothing": "" if plans else self.why or "; ".join(reasons),
        }


class CommitLearner:
    """Learns from what sessions committed. Bears any number of calls at once."""

    def __init__(
        self,
        door: StoreDoor,
        store: SessionStore,
        trainer: StreamingPolicyTrainer,
        finder: CaseFinder,
        branch: str,
    ) -> None:
        """`branch` is the one that `trainer` teaches."""
        self._door = door
        self._store = store
        self._trainer = trainer
        self._finder = finder
        self._branch = branch

    async def learn(self, archive: Archive) -> Learned:
        """Learn from an archive. What one rollout could not be learned from is in its state.

        Raises FormatError for a malformed CaseSpec or OutcomeEvaluation, AskError where a model that was to
        find the cases does not answer, and what the store raises.
        """
        if KIND not in effective_types(archive.settings):
            return Learned(why=NOT_WANTED)
        spoken = spoken_of(to_messages(archive.messages))
        if not spoken.messages:
            return Learned(why=NO_WORK)
        if spoken.case is not None:
            declared = ExtractedCase(case=spoken.case, evaluation=spoken.outcome)
            return await self._trained([declared], spoken.messages, archive)
        found = await self._found(spoken, archive)
        if not found.cases:
            return Learned(why=found.why)
        return await self.train_from_extracted_cases(found.cases, spoken.messages, archive)

    async def train_from_extracted_cases(
        self, cases: Sequence[ExtractedCase], messages: Sequence[Message], archive: Archive
    ) -> Learned:
        """Learn from messages as attempts at these cases (RFC §11.2); the cases go on record first.

        Raises what the store raises. A rollout that was learned from before is told as it was.
        """
        rollouts = [_rollout(case, messages, archive) for case in cases]
        clean = [await asyncio.to_thread(redact_rollout, rollout) for rollout in rollouts]
        files = [evidence.case_file(r.case.id, r.case.model_dump(mode="json")) for r in clean]
        name = f"{archive.session} {archive_name(archive.number)}"
        await self._door.call(lambda location: evidence.write(location, files, f"Keep the cases of {name}"))
        return await self._trained(cases, messages, archive)

    async def drop(self, archive: Archive, why: str) -> Learned:
        """Take back what is not learned yet of an archive; return what came of it until now."""
        try:
            spoken = spoken_of(to_messages(archive.messages))
            kept = FoundCases.model_validate(archive.cases or {})
        except ValueError:
            return Learned()
        evaluated = ExtractedCase(case=spoken.case, evaluation=spoken.outcome) if spoken.case else None
        cases = [evaluated] if evaluated else list(kept.cases)
        rollouts = [_rollout(case, spoken.messages, archive) for case in cases]
        clean = [await asyncio.to_thread(redact_rollout, rollout) for rollout in rollouts]
        await self._trainer.settled()  # or it is learned from after it was said that it is not

        def work(location: Location) -> Learned:
            known = [r.id for r in clean if evidence.ledger(location, r.id)]
            inbox.drop(location, known, why)
            states = [_on_record(location, r, self._branch) for r in clean if r.id in known]
            return Learned(rollouts=tuple(states))

        return await self._door.call(work)

    def commits(self, location: Location, plans: Sequence[str]) -> dict[str, str]:
        """Return the commit that has each plan now; "" where no branch has it any more."""
        return {plan: _commit_of(location, plan, self._branch) for plan in plans}

    async def _found(self, spoken: Spoken, archive: Archive) -> FoundCases:
        """Return the cases of an archive: those that were found first, whoever asks again."""
        if archive.cases is None:
            blank = Case(name=SNAPSHOT, rubric=Rubric(name=SNAPSHOT))
            shown = Rollout(case=blank, messages=spoken.messages, evaluation=spoken.outcome)
            clean = await asyncio.to_thread(redact_rollout, shown)
            redacted = Spoken(clean.messages, None, clean.evaluation)
            about = f"session {archive.session}, {archive_name(archive.number)}"
            found = await self._finder.find(redacted, about)
            kept = await self._store.found(archive.task, found.model_dump(mode="json"))
        else:
            kept = archive.cases
        return FoundCases.model_validate(kept)

    async def _trained(
        self, cases: Sequence[ExtractedCase], messages: Sequence[Message], archive: Archive
    ) -> Learned:
        rollouts = [_rollout(case, messages, archive) for case in cases]
        states = await asyncio.gather(*map(self._submitted, rollouts))
        return Learned(rollouts=tuple(states))

    async def _submitted(self, rollout: Rollout) -> RolloutState:
        clean = await asyncio.to_thread(redact_rollout, rollout)
        try:
            result = await self._trainer.submit_rollout(rollout)
        except BatchError as error:  # it is on record, and open
            return RolloutState(clean.id, clean.case.name, {}, failure=error.message)
        if clean.id not in result.already:
            return _told(clean, result)
        return await self._door.call(lambda location: _on_record(location, clean, self._branch, BUSY))


def _rollout(found: ExtractedCase, messages: Sequence[Message], archive: Archive) -> Rollout:
    uri = archive_uri(archive.owner, archive.session, archive.number)
    metadata: dict[str, JsonValue] = {
        "session": archive.session,
        "archive_uri": uri,
        "policy_commit": archive.policy,
    }
    if read := experiences_in(archive.messages):  # what an agent looked for itself, its calls tell
        metadata[READ] = [*read]
    return Rollout(
        case=found.case,
        messages=tuple(messages),
        policy_snapshot_id=f"{SNAPSHOT}:{archive_name(archive.number)}",
        evaluation=found.evaluation,
        metadata=metadata,
    )


def _told(rollout: Rollout, result: RolloutTrainingResult) -> RolloutState:
    """Return what an update made of a rollout."""
    applied = result.apply_result
    commits = dict(zip((p.plan_id for p in applied.plans), applied.commits, strict=False))
    made = {plan.plan_id: commits.get(plan.plan_id, "") for plan in result.plans}
    why = result.nothing.get(rollout.id, "")
    errors = [f.error for f in result.failures if f.rollout == rollout.id]
    if not (errors or made or why):  # the update as a whole was refused
        errors = list(applied.errors)
    pages = sum(len(plan.items) for plan in result.plans)
    return RolloutState(rollout.id, rollout.case.name, made, why, "; ".join(dict.fromkeys(errors)), pages)


def _on_record(location: Location, rollout: Rollout, branch: str, otherwise: str = "") -> RolloutState:
    """Return what the ledger says of a rollout; `otherwise` is the failure where it says nothing."""
    own = rollout.id
    events = evidence.ledger(location, own)
    plans = {p: commit for p in _plans(events) if (commit := _commit_of(location, p, branch))}
    why = next((str(e.get("why", "")) for e in events if e["event"] in {"nothing", "dropped"}), "")
    failure = "" if plans or why else otherwise
    return RolloutState(own, rollout.case.name, plans, "" if plans else why, failure, len(plans))


def _commit_of(location: Location, plan: str, branch: str) -> str:
    """Return the commit that has a plan, on this branch first; "" where no branch has it."""
    within = branch if location.tip_of(branch) else None
    return history.commit_of_plan(location, plan, within=within)


def _plans(events: Sequence[Event]) -> list[str]:
    return sorted({str(e["plan"]) for e in events if e["event"] == "planned" and e.get("plan")})


def failed(learned: Learned) -> ComponentError:
    """Return the error of a commit of which not all could be learned."""
    more = len(learned.failures) - 1
    also = f" (and {more} more)" if more else ""
    return ComponentError(f"{learned.failures[0]}{also}", hint=AGAIN)
