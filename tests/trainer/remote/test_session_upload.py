import asyncio
from itertools import islice

import pytest

from tests.virtual_clock import run
from trainer.remote.session_upload import Pace, SessionError, SessionUpload

SAID = [{"role": "user", "parts": [{"type": "text", "text": "hello"}]}]


class ServiceError(Exception):
    """What the clients of others raise."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the service says {code}")
        self.code = code


class Client:
    """A client of somebody else's, in memory; `errors` has what the calls of a name raise, in order."""

    def __init__(self, status: str = "completed", **errors: list[Exception]) -> None:
        self.status = status
        self.errors = errors
        self.looks: list[float] = []
        self.messages: dict[str, int] = {}
        self.commits: list[str] = []

    async def _call(self, name: str) -> None:
        await asyncio.sleep(0)
        errors = self.errors.get(name)
        if errors:
            raise errors.pop(0)

    async def create_session(self, session_id, options):
        await self._call("create_session")
        if session_id in self.messages:
            raise ServiceError("ALREADY_EXISTS")
        self.messages[session_id] = 0
        return {}

    async def batch_add_messages(self, session_id, messages):
        await self._call("batch_add_messages")
        self.messages[session_id] += len(messages)
        return {"message_count": self.messages[session_id]}

    async def commit_session(self, session_id, *, keep_recent_count):
        await self._call("commit_session")
        self.commits.append(session_id)
        return {"task_id": f"task of {session_id}"}

    async def get_session(self, session_id):
        await self._call("get_session")
        return {
            "message_count": self.messages[session_id],
            "commit_count": self.commits.count(session_id),
        }

    async def list_tasks(self, *, resource_id):
        await self._call("list_tasks")
        tasks = [{"task_id": f"task of {s}", "resource_id": s, "created_at": 1.0} for s in self.commits]
        return [{"task_id": "another", "resource_id": "other", "created_at": 9.0}, *tasks, "rubbish"]

    async def get_task(self, task_id):
        self.looks.append(asyncio.get_running_loop().time())
        await self._call("get_task")
        return {"task_id": task_id, "status": self.status, "result": None, "error": None}


def upload(client: Client, pace: Pace | None = None, *, again: bool = False):
    return run(SessionUpload(client, pace or Pace()).run("s", SAID, again=again))


def test_an_endless_task_ends_in_time_and_is_looked_at_ever_more_seldom():
    client = Client("running")
    with pytest.raises(SessionError, match="get_task: not through after 600 s; task task of s is running"):
        upload(client)
    assert client.looks[-1] <= 600.0
    gaps = [b - a for a, b in zip(client.looks, client.looks[1:], strict=False)]
    assert gaps[0] <= 0.1
    assert max(gaps) <= 5.0
    assert min(gaps[15:]) >= 2.5
    assert len(client.looks) < 300


def test_a_service_that_is_away_while_a_task_runs_is_waited_for_until_the_end():
    client = Client(get_task=[ConnectionResetError("away")] * 60)
    assert upload(client).status == "completed"
    client = Client(get_task=[ConnectionResetError("away")] * 9999)
    with pytest.raises(SessionError, match="not through after 600 s; task task of s is unknown"):
        upload(client)


@pytest.mark.parametrize("name", ["create_session", "batch_add_messages", "commit_session"])
def test_other_calls_are_made_five_times(name):
    client = Client(**{name: [ServiceError("UNAVAILABLE")] * 4})
    assert upload(client).status == "completed"
    assert client.commits == ["s"]
    client = Client(**{name: [ServiceError("UNAVAILABLE")] * 5})
    with pytest.raises(SessionError, match=f"^{name}: the service says UNAVAILABLE$"):
        upload(client)


def test_a_no_is_not_asked_again():
    client = Client(commit_session=[ServiceError("PERMISSION_DENIED")])
    with pytest.raises(SessionError, match="commit_session: the service says PERMISSION_DENIED"):
        upload(client)
    assert not client.commits


def test_what_hangs_below_a_client_is_bounded_too():
    class Hanging(Client):
        async def batch_add_messages(self, session_id, messages):
            await asyncio.get_running_loop().create_future()

    with pytest.raises(SessionError, match="batch_add_messages: not through after 3 s"):
        upload(Hanging(), Pace(timeout=3.0))


def test_who_cancels_is_heard():
    async def work():
        task = asyncio.create_task(SessionUpload(Client("running"), Pace()).run("s", SAID))
        await asyncio.sleep(5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(work())


def test_sessions_that_are_of_no_use_are_stepped_over_up_to_a_bound():
    client = Client("failed")
    client.messages = dict.fromkeys(["s", "s-2"], 0)
    client.commits = ["s", "s-2"]
    way = upload(client)
    assert (way.session_id, way.is_earlier, way.status) == ("s-3", False, "failed")
    names = ["s", *(f"s-{n}" for n in range(2, 21))]
    client.messages, client.commits = dict.fromkeys(names, 0), names
    with pytest.raises(SessionError, match="20 sessions of this rollout are there already"):
        upload(client)


def test_a_session_that_counts_is_looked_up_and_again_makes_another():
    client = Client()
    assert not upload(client).is_earlier
    assert upload(client).is_earlier
    assert client.commits == ["s"]
    assert upload(client, again=True).session_id == "s-2"


def test_pauses_grow_to_a_bound_and_differ():
    pace = Pace(first=1.0, longest=4.0)
    assert len(list(pace.pauses(5))) == 4
    for number, pause in enumerate(islice(pace.pauses(), 50)):
        longest = min(4.0, 1.6**number)
        assert longest / 2 <= pause <= longest
    assert len(set(islice(pace.pauses(), 50))) > 40
