import asyncio

import pytest

from tests.session_server import SessionServer
from trainer.remote.client import HttpError
from trainer.remote.session_client import HttpSessionClient, fault_of


class FromAClient(Exception):  # noqa: N818  # as other programs name theirs
    def __init__(self, code: object) -> None:
        super().__init__("what it says")
        self.code = code


def answer(code: str):
    return {"status": "error", "error": {"code": code}}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (HttpError("refused", "x", status=409, body=answer("ALREADY_EXISTS")), "there"),
        (HttpError("refused", "x", status=409, body=answer("CONFLICT")), "again"),
        (HttpError("refused", "x", status=409, body=answer("SOMETHING")), "no"),
        (HttpError("refused", "x", status=409, body=[]), "no"),
        (HttpError("refused", "x", status=409, body={"error": "text"}), "no"),
        (HttpError("refused", "x", status=400, body=answer("UNAVAILABLE")), "no"),
        (HttpError("unreachable", "x"), "again"),
        (HttpError("timeout", "x"), "again"),
        (HttpError("busy", "x", status=429), "again"),
        (HttpError("failed", "x", status=500), "again"),
        (HttpError("failed", "x", status=501), "no"),
        (HttpError("gone", "x", status=404), "no"),
        (HttpError("wrong answer", "x", status=200), "no"),
        (FromAClient("ALREADY_EXISTS"), "there"),
        (FromAClient("UNAVAILABLE"), "again"),
        (FromAClient("RESOURCE_EXHAUSTED"), "again"),
        (FromAClient("UNAUTHENTICATED"), "no"),
        (FromAClient(None), "again"),
        (ConnectionResetError("reset"), "again"),
        (TimeoutError(), "again"),
        (TypeError("called wrongly"), "no"),
        (RuntimeError("not initialized"), "no"),
    ],
)
def test_errors_of_any_client_are_read(error, kind):
    fault = fault_of(error)
    assert fault.kind == kind
    assert fault.message


def test_an_error_says_how_long_to_wait_and_one_line():
    assert fault_of(HttpError("busy", "x", retry_after=3.0)).retry_after == 3.0
    assert fault_of(OSError("two\nlines\x00" + "x" * 999)).message.startswith("two lines")
    assert len(fault_of(OSError("x" * 999)).message) == 300


def test_the_calls_return_what_the_envelope_holds():
    server = SessionServer()

    async def work():
        async with HttpSessionClient.at(server.url) as client:
            assert await client.create_session("a b/c", {}) == {"session_id": "a b/c"}
            with pytest.raises(HttpError, match="is there"):
                await client.create_session("a b/c", {})
            said = {"role": "user", "parts": [{"type": "text", "text": "hello"}]}
            assert await client.batch_add_messages("a b/c", [said]) == {"message_count": 1, "commit_count": 0}
            assert await client.get_session("a b/c") == {"message_count": 1, "commit_count": 0}
            committed = await client.commit_session("a b/c", keep_recent_count=0)
            assert committed["task_id"] == "task-0"
            assert await client.list_tasks(resource_id="a b/c") == [
                {"task_id": "task-0", "resource_id": "a b/c"}
            ]
            assert (await client.get_task("task-0"))["status"] == "pending"
            assert await client.get_task("task-9") is None
            assert await client.retry_task("task-0") is False
            server.can_retry = True
            assert await client.retry_task("task-0") is True
            server.faults["retry"] = [(409, ""), (500, "")]
            assert await client.retry_task("task-0") is True
            with pytest.raises(HttpError, match="answered 500"):
                await client.retry_task("task-0")
            server.faults["task"] = [(500, ""), "plain"]
            for why in ("answered 500", "not of the form"):
                with pytest.raises(HttpError, match=why):
                    await client.get_task("task-0")

    try:
        asyncio.run(work())
    finally:
        server.close()
    assert server.archives == {"a b/c": [[{"role": "user", "parts": [{"type": "text", "text": "hello"}]}]]}
