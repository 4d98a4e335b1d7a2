from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from tests.asgi import get, opened
from tests.env_world import Words, ended, post, submission
from trainer.env_kit.executions import Limits
from trainer.env_kit.service import WEB_LIMITS, health_of, make_service
from trainer.remote.protocol import EXECUTE, EXECUTIONS, QUERY
from trainer.web.keys import KeyFile
from trainer.web.limits import MEBIBYTE, WebLimits
from xpstore.errors import UsageError


class Named(Words):
    agent = "scripted/1"
    model = "small"
    simulator = ""
    case_input = ("user_query",)


def test_health_says_what_scores_are_kept_under():
    health = get(make_service(Named()), "/health").json()
    assert health == {
        "status": "ok",
        "name": "words",
        "version": "1",
        "agent": "scripted/1",
        "model": "small",
        "simulator": "",
        "case_input": ["user_query"],
    }
    assert health_of(Words()).agent == ""


def test_a_runtime_without_a_version_is_not_served():
    runtime = Words()
    runtime.version = ""
    with pytest.raises(UsageError, match="no version"):
        make_service(runtime)


def test_openapi_describes_the_endpoints():
    document = get(make_service(Words()), "/openapi.json").json()
    assert {QUERY, EXECUTE, f"{EXECUTIONS}/{{execution_id}}", "/health"} == set(document["paths"])
    assert document["paths"][f"{EXECUTIONS}/{{execution_id}}"].keys() == {"get", "delete"}
    assert "Execution" in document["components"]["schemas"]


def test_a_runtime_that_is_a_context_is_open_while_the_service_is():
    class Opened(Words):
        states: list[str]

        async def __aenter__(self):
            self.states = ["open"]
            return self

        async def __aexit__(self, *_):
            self.states.append("closed")

    runtime = Opened()
    with opened(make_service(runtime)):
        assert runtime.states == ["open"]
    assert runtime.states == ["open", "closed"]


def test_a_runtime_that_does_not_start_is_its_authors_matter():
    class Shut(Words):
        async def __aenter__(self):
            raise RuntimeError("no model")

        async def __aexit__(self, *_):
            raise AssertionError

    with (
        pytest.raises(UsageError, match="words cannot be started: RuntimeError: no model"),
        opened(make_service(Shut())),
    ):
        pytest.fail("it is open")


def test_rollouts_in_threads_get_as_many_as_run_at_once():
    class Threaded(Words):
        async def run(self, request):
            await asyncio.to_thread(meeting.wait)
            return await super().run(request)

    meeting = threading.Barrier(40, timeout=60)
    with opened(make_service(Threaded(), limits=Limits(parallel=40))) as talking:
        body = submission(talking)
        ids = [post(talking, EXECUTE, body).json()["execution_id"] for _ in range(40)]
        assert {ended(talking, name)["status"] for name in ids} == {"completed"}


def test_a_restart_keeps_what_has_ended(tmp_path):
    state = tmp_path / "runs.sqlite"
    with opened(make_service(Words(), state=state)) as talking:
        body = submission(talking)
        submitted = post(talking, EXECUTE, body, **{"Idempotency-Key": "k"}).json()
        done = ended(talking, submitted["execution_id"])
    runtime = Words()
    with opened(make_service(runtime, state=state)) as talking:
        assert talking.request("GET", f"{EXECUTIONS}/{submitted['execution_id']}").json() == done
        assert post(talking, EXECUTE, body, **{"Idempotency-Key": "k"}).json() == done
    assert runtime.requests == []


def test_a_key_sees_its_own_executions(tmp_path):
    file = KeyFile(tmp_path / "keys.json")
    one, two = ({"X-API-Key": file.add(name)} for name in ("one", "two"))
    with opened(make_service(Words(), keys=file)) as talking:
        assert post(talking, QUERY, {}).status_code == 401
        assert talking.request("GET", "/health").status_code == 200
        body = {"case": {"name": "train-0", "rubric": {"name": "said"}}, "policy_set": {"policies": []}}
        body["policy_set"]["metadata"] = {"pinned": True}
        submitted = post(talking, EXECUTE, body, **one).json()
        path = f"{EXECUTIONS}/{submitted['execution_id']}"
        assert talking.request("GET", path, headers=one).status_code == 200
        assert talking.request("GET", path, headers=two).status_code == 404


def test_a_submission_with_many_experiences_fits_and_not_any():
    page = {"name": "a", "content": "- Do it.\n" * 15_000}
    with opened(make_service(Words(), web_limits=WebLimits(body_bytes=200_000))) as talking:
        fits = submission(talking, policy_set={"policies": [page]})
        assert post(talking, EXECUTE, fits).status_code == 200
        too_many = submission(talking, policy_set={"policies": [page, page]})
        assert post(talking, EXECUTE, too_many).status_code == 413
    assert WEB_LIMITS.body_bytes > 16 * MEBIBYTE


@pytest.mark.stress
def test_a_service_needs_no_repository_and_no_model():
    blocked = "import sys; sys.modules['pygit2'] = sys.modules['openai'] = sys.modules['httpx'] = None; "
    program = f"{blocked}import trainer.env_kit.service, trainer.env_kit.installed"
    subprocess.run([sys.executable, "-c", program], check=True)
