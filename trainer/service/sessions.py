"""SessionService: the sessions of one store, and the learning from what they commit.

    async with SessionService.open(path, choice=choice) as service:
        await service.create_session("alice", {"session_id": "s1"})
        await service.add_messages("alice", "s1", [WireMessage(role="user", content="…")])
        accepted = await service.commit("alice", "s1")
        task = await service.task("alice", accepted["task_id"])

Results are the JSON that clients of OpenViking know. Who is called `user` sees its own sessions and no
others. What a call has returned for survives the process; one process has a store's sessions.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trainer.asking.open import open_asker
from trainer.service.case_finding import OfflineCaseFinder
from trainer.service.case_question import LLMCaseFinder
from trainer.service.memory_diff import memory_diff
from trainer.service.session_errors import InvalidRequestError, StateError, UnknownError
from trainer.service.session_learning import CommitLearner
from trainer.service.session_messages import MOST_MESSAGES, tokens_in
from trainer.service.session_rows import NewMessage
from trainer.service.session_store import OPEN, SessionStore
from trainer.service.session_tasks import SessionTasks
from trainer.service.session_uris import archive_number, archive_uri, checked_id, session_uri
from trainer.service.session_views import (
    archive_view,
    checked_policy,
    commit_view,
    context_view,
    created_view,
    listed_view,
    session_view,
    task_view,
)
from trainer.service.tool_results import set_aside
from trainer.store_door import StoreDoor
from trainer.streaming import LIVE, get_streaming_policy_trainer
from xpstore.derived import answers
from xpstore.hashing import canonical_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from trainer.components.streaming_trainer import StreamingPolicyTrainerConfig
    from trainer.service.case_finding import CaseFinder
    from trainer.service.session_messages import WireMessage
    from trainer.strategies import ModelChoice
    from xpstore.location import Location

MOST_PENDING = 20_000
"""Messages that a session may have that it has not committed."""
MOST_TOKENS = 2_000_000
"""Tokens that these may have together: all of them become one recording."""
Json = dict[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class _Place:
    """What opening a service needs to know of the store."""

    store_id: str
    common_dir: Path
    branch: str


class SessionService:
    """See the module. Opened by `open`; bears any number of calls at once."""

    def __init__(
        self, store: SessionStore, door: StoreDoor, learner: CommitLearner, tasks: SessionTasks, served: str
    ) -> None:
        """Take parts that are open; `served` is the ref that agents read from, "" for the main branch."""
        self._store = store
        self._door = door
        self._learner = learner
        self._tasks = tasks
        self._served = served

    @classmethod
    @asynccontextmanager
    async def open(  # noqa: PLR0913  # what two services may differ in
        cls,
        location: Path,
        *,
        store: str | None = None,
        choice: ModelChoice | None = None,
        branch: str = "",
        served: str = "",
        config: StreamingPolicyTrainerConfig | None = None,
    ) -> AsyncIterator[SessionService]:
        """Open the sessions of the store at a path, and take up what is not done.

        `choice` is the model that learns, None = none does; `branch` is taught (default: the candidate
        `live`). Leaving it finishes what was begun; the rest is taken up by the next start.

        Raises RefusedError where another process has them, and what opening a store or a learner raises.
        """
        # whoever asks does not wait for what is being written
        async with StoreDoor(location, store) as door, StoreDoor(location, store) as reading:
            place = await door.call(lambda found: _place(found, branch))
            # first of all: who is refused must not have begun to learn
            opened = await asyncio.to_thread(SessionStore, place.common_dir, place.store_id)
            try:
                async with (
                    get_streaming_policy_trainer(
                        location, store=store, branch=branch, choice=choice, config=config
                    ) as trainer,
                    _finding(door, choice) as finder,
                ):
                    learner = CommitLearner(door, opened, trainer, finder, place.branch)
                    tasks = SessionTasks(opened, learner)
                    try:
                        await tasks.start()
                        yield cls(opened, reading, learner, tasks, served)
                    finally:
                        await tasks.close()
            finally:
                await asyncio.to_thread(opened.close)

    async def create_session(self, user: str, settings: Mapping[str, JsonValue]) -> Json:
        """Make a session (`session_id`, `memory_policy`, … of the request).

        Raises InvalidRequestError, ExistsError.
        """
        given = settings.get("session_id")
        session = checked_id(str(given)) if given not in {None, ""} else uuid.uuid4().hex
        checked_policy(settings.get("memory_policy"))
        kept = {key: value for key, value in settings.items() if key != "session_id" and value is not None}
        return created_view(await self._store.create(user, session, kept))

    async def session(self, user: str, session: str, *, create: bool = False) -> Json:
        """Return a session, made where it is missing and `create`. Raises UnknownError."""
        try:
            row = await self._store.session(user, checked_id(session))
        except UnknownError:
            if not create:
                raise
            row = await self._store.create(user, session, {}, may_exist=True)
        return session_view(row, await self._store.count(row.key))

    async def sessions(self, user: str) -> list[Json]:
        """Return the sessions of a user, the newest first."""
        return [listed_view(row) for row in await self._store.sessions(user)]

    async def delete(self, user: str, session: str) -> Json:
        """Delete a session with all that was said in it. Raises UnknownError, StateError: it is at work.

        What was learned from it, and the redacted evidence, stay: `xp revert` undoes the one, and
        `xp forget SESSION` removes the other.
        """
        await self._store.delete(user, checked_id(session))
        return {"session_id": session, "uri": session_uri(user, session), "deleted": True}

    async def add_messages(self, user: str, session: str, messages: Sequence[WireMessage]) -> Json:
        """Add messages; those that are there already (by their ids) are there once.

        Raises InvalidRequestError, UnknownError; ExistsError where another message has an id.
        """
        if len(messages) > MOST_MESSAGES:
            raise InvalidRequestError(
                f"{len(messages)} messages in one request; at most {MOST_MESSAGES}", hint="send them in parts"
            )
        base = session_uri(user, checked_id(session))
        new = await asyncio.to_thread(lambda: [_new(message, base) for message in messages])
        row, added = await self._store.add(user, session, new, MOST_PENDING, MOST_TOKENS)
        return {
            "session_id": session,
            "message_count": row.messages,
            "added": added,
            "pending_tokens": row.tokens,
        }

    async def configure(self, user: str, session: str, settings: Mapping[str, JsonValue]) -> Json:
        """Change settings of a session. Raises InvalidRequestError, UnknownError."""
        checked_policy(settings.get("memory_policy"))
        await self._store.configure(user, checked_id(session), settings)
        return await self.session(user, session)

    async def messages(self, user: str, session: str) -> list[Json]:
        """Return the messages that are in no archive yet. Raises UnknownError."""
        return await self._store.messages(user, checked_id(session))

    async def context(self, user: str, session: str, budget: int) -> Json:
        """Return the newest of these, as many as have at most so many tokens together."""
        return context_view(await self.messages(user, session), budget)

    async def archive(self, user: str, session: str, name: str) -> Json:
        """Return an archive by its name, such as archive_001. Raises UnknownError."""
        number = archive_number(name)
        return archive_view(await self._store.archived(user, checked_id(session), number))

    async def commit(self, user: str, session: str, *, keep_recent: int = 0) -> Json:
        """Freeze all but the last messages, and have them learned from in the background.

        The rollouts made of them are pinned to what agents are served now. Raises UnknownError.
        """
        checked_id(session)
        policy = await self._door.call(lambda found: _served(found, self._served))
        task, trace = str(uuid.uuid4()), uuid.uuid4().hex
        number = await self._store.commit(
            user, session, max(0, keep_recent), task=task, policy=policy, trace=trace
        )
        if number:
            self._tasks.begin(task)
        row = await self._store.session(user, session)
        return commit_view(row, number, task, trace)

    async def task(self, user: str, task: str) -> Json:
        """Return a task. Raises UnknownError."""
        return task_view(await self._store.task(task, user))

    async def wait(self, user: str, task: str) -> Json:
        """Return a task when it is done. Raises UnknownError."""
        await self._store.task(task, user)
        await self._tasks.wait(task)
        return await self.task(user, task)

    async def tasks(
        self, user: str, *, task_type: str = "", status: str = "", session: str = "", limit: int = 50
    ) -> list[Json]:
        """Return the tasks of a user, the newest first."""
        if task_type not in {"", "session_commit"}:
            return []
        states = (status,) if status else ()
        found = await self._store.tasks(user, status=states, session=session, limit=limit)
        return [task_view(task) for task in found]

    async def retry(self, user: str, task: str) -> Json:
        """Try a failed task again. Raises UnknownError, StateError."""
        return task_view(await self._tasks.retry(await self._store.task(task, user)))

    async def cancel(self, user: str, task: str) -> Json:
        """Stop a task. Raises UnknownError, StateError: it is done."""
        return task_view(await self._tasks.cancel(await self._store.task(task, user)))

    async def read_file(self, user: str, session: str, parts: Sequence[str]) -> str:
        """Return the text of a file below a session.

        That is memory_diff.json and messages.jsonl of an archive, and what is kept aside of tools' outputs.
        Raises UnknownError, StateError while an archive is not learned from yet.
        """
        match list(parts):
            case ["history", name, "memory_diff.json"]:
                diff = await self.memory_diff(user, session, name)
                return canonical_json(diff).decode() + "\n"
            case ["history", name, "messages.jsonl"]:
                archive = await self._store.archived(user, session, archive_number(name))
                return "".join(canonical_json(row).decode() + "\n" for row in archive.messages)
            case ["tool-results", result]:
                return (await self._store.tool_result(user, session, result))[0]
            case _:
                raise UnknownError("file", "/".join(parts)[:200])

    async def memory_diff(self, user: str, session: str, name: str) -> Json:
        """Return what the commits say that was learned from an archive. Raises UnknownError, StateError."""
        archive = await self._store.archived(user, session, archive_number(name))
        task = await self._store.task(archive.task)
        if task.status in OPEN or task.result is None:
            raise StateError(
                f"task {task.id} of {archive_uri(user, session, archive.number)} is {task.status}",
                hint="ask again when it is completed",
            )
        learned, nothing = task.result.get("plans"), task.result.get("nothing")
        ids = [str(plan) for plan in learned] if isinstance(learned, list) else []
        plans = await self._door.call(lambda found: self._learner.commits(found, ids))
        why = {key: str(text) for key, text in nothing.items()} if isinstance(nothing, dict) else {}
        when = task.ended or task.updated
        return await self._door.call(lambda found: memory_diff(found, archive, plans, when, why))


@asynccontextmanager
async def _finding(door: StoreDoor, choice: ModelChoice | None) -> AsyncIterator[CaseFinder]:
    """Open what finds cases: rules, or the model that learns too. It counts what it asks by itself."""
    if choice is None:
        yield OfflineCaseFinder()
        return
    config, repo = await door.call(lambda found: (found.config, found.repo))
    settings, tape = choice.settings(config), choice.tape()
    salt = tape.salt(config.id) if tape else config.id
    async with open_asker(settings, tape=tape, answers=answers(repo)) as asker:
        yield LLMCaseFinder(asker, settings.context_tokens, salt)


def _place(found: Location, branch: str) -> _Place:
    return _Place(found.config.id, found.repo.common_dir, branch or f"{found.candidate_prefix}{LIVE}")


def _served(found: Location, ref: str) -> str:
    """Return the commit that agents are served now; "" before there is one."""
    if ref:
        return found.resolve(ref)
    return found.tip_of(found.main_ref) or ""


def _new(message: WireMessage, base: str) -> NewMessage:
    now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    given = message.id or f"msg_{uuid.uuid4().hex}"
    data, results = set_aside(message.stored(given, now), base)
    return NewMessage(given, data, tokens_in(data), results)
