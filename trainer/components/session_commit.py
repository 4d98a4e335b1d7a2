"""SessionCommitPolicyTrainer: has a service learn that learns from sessions (RFC §12).

A rollout is written as a session: its case, its messages, how it came out. The service does the rest.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from trainer.domain import RolloutAnalysis, RolloutFailure, RolloutTrainingResult, TextPart
from trainer.redaction import redact_rollout
from trainer.remote.session_case import as_speech, render_case_spec, render_outcome
from trainer.remote.session_upload import Pace, SessionError, SessionUpload
from xpstore.errors import FormatError, UsageError
from xpstore.hashing import content_id
from xpstore.model import Frozen
from xpstore.plan import PolicyApplyResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import JsonValue

    from trainer.context import PipelineContext
    from trainer.domain import Message, Part, Rollout, RubricEvaluation
    from trainer.interfaces import PolicyHandle
    from trainer.remote.session_client import SessionClient
    from trainer.remote.session_upload import Way, WireMessage
    from xpstore.experience import ExperienceSet


class SessionCommit(Frozen):
    """What became of one rollout at the service."""

    rollout: str
    case: str
    session_id: str = ""
    stage: str = ""
    """The last call, as SessionClient names it; before the first one `prepare`."""
    task_id: str = ""
    status: str = ""
    """Of the task: completed, failed or cancelled; "" where it was not seen to end."""
    is_earlier: bool = False
    """The service had learned from this rollout before."""
    archive_uri: str = ""
    trace_id: str = ""
    memory_diff_uri: str = ""
    plans: tuple[str, ...] = ()
    """Plan ids, from a service that says them, and the commits of these plans."""
    commits: tuple[str, ...] = ()
    nothing: str = ""
    """Why the service learned nothing, where it says so."""
    error: str = ""


class SessionCommitPolicyTrainer:
    """A PolicyTrainer whose work is done by OpenViking's server, or by `xp serve`."""

    def __init__(
        self,
        client: SessionClient,
        *,
        policy: PolicyHandle | None = None,
        pace: Pace | None = None,
        parallel: int = 8,
        ground_truth: bool = False,
    ) -> None:
        """`policy` is read again after training, where the service writes to a store that is at hand.

        `parallel` rollouts are at the service at once. `ground_truth` sends along what a perfect agent does,
        and the environment's own report: whoever reads the session reads these. Raises UsageError where
        nothing could ever go on.
        """
        if parallel < 1:
            raise UsageError(f"{parallel} rollouts at once is none", hint="parallel is 1 or more")
        self._upload = SessionUpload(client, pace or Pace())
        self._policy = policy
        self._parallel = parallel
        self._ground_truth = ground_truth

    async def train_rollouts(
        self,
        rollouts: Sequence[Rollout],
        policy_set: ExperienceSet,
        context: PipelineContext,
        analyses: Sequence[RolloutAnalysis] | None = None,
    ) -> RolloutTrainingResult:
        """Let the service learn from the rollouts, secrets in them masked first.

        A rollout that does not get through, or whose task fails, is in `failures`; the rest goes on. Of
        `analyses` only evaluations are used: the service makes its own. `metadata["sessions"]` has a
        SessionCommit for every rollout, as JSON.
        """
        clean = await asyncio.to_thread(lambda: [redact_rollout(r) for r in rollouts])
        scored = {a.rollout.id: a.evaluation for a in analyses or ()}
        todo = {
            r.id: (r, r.evaluation or scored.get(given.id) or scored.get(r.id))
            for r, given in zip(clean, rollouts, strict=True)
        }
        places = asyncio.Semaphore(self._parallel)
        again = context.apply_context.again

        async def one(rollout: Rollout, evaluation: RubricEvaluation | None) -> SessionCommit:
            async with places:
                return await self._one(rollout, evaluation, again=again)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(*work)) for work in todo.values()]
        done = [task.result() for task in tasks]
        after = await self._policy.reload() if self._policy else policy_set
        through = [c for c in done if not c.error]
        fresh = [c for c in through if not c.is_earlier]
        return RolloutTrainingResult(
            analyses=tuple(
                RolloutAnalysis(rollout=rollout, evaluation=evaluation)
                for commit in through
                for rollout, evaluation in (todo[commit.rollout],)
                if evaluation is not None
            ),
            apply_result=PolicyApplyResult(
                updated_policy_set=after,
                commits=tuple(dict.fromkeys(c for commit in fresh for c in commit.commits)),
            ),
            failures=tuple(
                RolloutFailure(rollout=c.rollout, case=c.case, stage="session", error=c.error)
                for c in done
                if c.error
            ),
            nothing={c.rollout: c.nothing for c in fresh if c.nothing},
            already=tuple(c.rollout for c in through if c.is_earlier),
            metadata={
                "plans": list(dict.fromkeys(p for commit in fresh for p in commit.plans)),
                "sessions": [c.model_dump(mode="json") for c in done],
            },
        )

    async def _one(
        self, rollout: Rollout, evaluation: RubricEvaluation | None, *, again: bool
    ) -> SessionCommit:
        """Return what became of one rollout."""
        mine = SessionCommit(rollout=rollout.id, case=rollout.case.name, stage="prepare")
        try:
            messages = session_messages(rollout, evaluation, ground_truth=self._ground_truth)
            name = f"xp-{rollout.id}-{content_id(messages)[:8]}"
            way = await self._upload.run(name, messages, again=again)
        except FormatError as error:
            return mine.model_copy(update={"error": error.message})
        except SessionError as error:
            return mine.model_copy(update={"stage": error.stage, "error": str(error)})
        return mine.model_copy(update=_told(way))


def session_messages(
    rollout: Rollout, evaluation: RubricEvaluation | None, *, ground_truth: bool = False
) -> list[WireMessage]:
    """Return the messages of the session: CaseSpec, what was said and done, and OutcomeEvaluation, if scored.

    Nothing in between is taken for either. Raises FormatError for numbers that JSON cannot say.
    """
    said = [message for message in map(_message, rollout.messages) if message["parts"]]
    spec = _text("system", render_case_spec(rollout.case, ground_truth=ground_truth))
    if evaluation is None:
        return [spec, *said]
    return [spec, *said, _text("user", render_outcome(evaluation, ground_truth=ground_truth))]


def _text(role: str, text: str) -> WireMessage:
    return {"role": role, "parts": [{"type": "text", "text": text}]}


def _message(message: Message) -> WireMessage:
    parts: list[JsonValue] = [_part(p) for p in message.parts if not isinstance(p, TextPart) or p.text]
    return {"role": message.role, "parts": parts}


def _part(part: Part) -> WireMessage:
    if isinstance(part, TextPart):
        return {"type": "text", "text": as_speech(part.text)}
    given = part.tool_input
    return {
        **part.model_dump(mode="json"),
        "tool_input": given if isinstance(given, dict) else {"input": given},
    }


def _told(way: Way) -> dict[str, object]:
    """Return what the service says at the end, as fields of a SessionCommit."""
    result = way.result or {}
    error = (
        "" if way.status == "completed" else f"the task has {way.status}: {way.error or 'no reason is given'}"
    )
    return {
        "session_id": way.session_id,
        "stage": way.stage,
        "task_id": way.task_id,
        "status": way.status,
        "is_earlier": way.is_earlier,
        "archive_uri": way.archive_uri,
        "trace_id": way.trace_id,
        "memory_diff_uri": str(result.get("memory_diff_uri") or ""),
        "plans": _texts(result.get("plans")),
        "commits": _texts(result.get("commits")),
        "nothing": _nothing(result),
        "error": error,
    }


def _nothing(result: dict[str, JsonValue]) -> str:
    """Return why nothing was learned: what our service says of rollouts, or OpenViking's of a session."""
    told = result.get("nothing")
    if isinstance(told, dict):
        return "; ".join(dict.fromkeys(map(str, told.values())))
    if told:
        return str(told)
    return str(result.get("agent_memory_skip_reason") or "")


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()
