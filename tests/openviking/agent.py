"""Run in OpenViking's environment: its own client, and its own trainer, against a service. No test of ours.

    python agent.py client URL FILE      sessions of FILE, committed one by one; then what the client reads
    python agent.py trainer URL FILE     the same conversations by openviking's SessionCommitPolicyTrainer
    python agent.py upload URL FILE      sessions of FILE, twice, by our SessionUpload with that client

The last line of the output is JSON. Nothing here knows whose service it is.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path

from openviking_cli.client.http import AsyncHTTPClient

ENDED = {"completed", "failed", "cancelled"}
POLICY = {
    "memory_types": ["cases", "trajectories", "experiences"],
    "working_memory": {"enabled": False},
}


async def learn(client: AsyncHTTPClient, session: dict) -> dict:
    """Return the task of a session, when it has ended."""
    name, messages = session["id"], session["messages"]
    await client.create_session(session_id=name, options={"memory_policy": POLICY})
    for start in range(0, len(messages), 100):
        await client.batch_add_messages(name, messages[start : start + 100])
    committed = await client.commit_session(name, telemetry=True, keep_recent_count=0)
    while True:
        task = await client.get_task(committed["task_id"])
        if task["status"] in ENDED:
            return task
        await asyncio.sleep(0.05)


async def refused(work: object) -> str:
    """Return the name of the error that a call raises."""
    try:
        await work
    except Exception as error:  # noqa: BLE001  # its name is what is asked for
        return type(error).__name__
    return ""


async def as_client(client: AsyncHTTPClient, sessions: list[dict]) -> dict:
    """Return what came of the sessions, and of everything else that a client may ask for."""
    first = sessions[0]["id"]
    gate = asyncio.Semaphore(8)

    async def one(session: dict) -> dict:
        async with gate:
            return await learn(client, session)

    tasks = await asyncio.gather(*map(one, sessions))
    user = (await client.get_session(first))["user"]["user_id"]
    folder = f"viking://user/{user}/memories/experiences"
    pages = await client.ls(folder)
    said = {page["uri"]: await client.read(page["uri"]) for page in pages}
    made = [task for task in tasks if task["result"]["commits"]]
    lone = "alone"
    await client.create_session(session_id=lone)
    await client.add_message(lone, "user", content="hello")
    return {
        "health": await client.health(),
        "tasks": tasks,
        "pages": said,
        "raw": {uri: await client.read_raw(uri) for uri in said},
        "stat": [await client.stat(uri) for uri in said],
        "simple": await client.ls(folder, simple=True, recursive=True),
        "found": [await client.find(next(iter(said.values()))[:200])] if said else [],
        "diff": await client.read(made[0]["result"]["memory_diff_uri"]) if made else "",
        "listed": [s["session_id"] for s in await client.list_sessions()],
        "of_first": await client.list_tasks(resource_id=first),
        "session": await client.get_session(first),
        "alone": (await client.get_session(lone))["message_count"],
        "exists": await client.session_exists(lone),
        "unknown_task": await client.get_task("no-such-task"),
        "empty": await client.commit_session(first),
        "errors": {
            "twice": await refused(client.create_session(session_id=first)),
            "session": await refused(client.get_session("nobodys")),
            "page": await refused(client.read(f"{folder}/none.md")),
            "many": await refused(client.batch_add_messages(lone, [{"role": "user", "content": "x"}] * 101)),
            "kind": await refused(
                client.create_session(session_id="odd", options={"memory_policy": {"memory_types": ["nope"]}})
            ),
            "write": await refused(client.write(f"{folder}/mine.md", "text")),
        },
    }


async def as_trainer(client: AsyncHTTPClient, sessions: list[dict]) -> dict:
    """Return what OpenViking's trainer says of the sessions."""
    from openviking.message import Message  # noqa: PLC0415  # only this needs the large package
    from openviking.session.train import domain  # noqa: PLC0415
    from openviking.session.train.components.session_commit import (  # noqa: PLC0415
        SessionCommitPolicyTrainer,
    )

    def rollout(number: int, session: dict) -> domain.Rollout:
        case, evaluation = session["case"], session["evaluation"]
        rubric = case["rubric"]
        return domain.Rollout(
            case=domain.Case(
                name=case["name"],
                task_signature=case["task_signature"],
                input=case["input"],
                rubric=domain.Rubric(
                    name=rubric["name"],
                    description=rubric["description"],
                    criteria=[domain.RubricCriterion(**c) for c in rubric["criteria"]],
                ),
            ),
            messages=[Message.from_dict({"id": str(n), **m}) for n, m in enumerate(session["messages"])],
            policy_snapshot_id="none",
            evaluation=domain.RubricEvaluation(
                **{
                    **evaluation,
                    "criterion_results": [
                        domain.CriterionResult(**r) for r in evaluation["criterion_results"]
                    ],
                }
            ),
            metadata={"task_no": number},
        )

    trainer = SessionCommitPolicyTrainer(client=client, poll_interval_seconds=0.1, timeout_seconds=60)
    rollouts = [rollout(number, session) for number, session in enumerate(sessions)]
    policy = domain.PolicySet(root_uri="viking://user/default/memories/experiences", policies=[])
    result = await trainer.train_rollouts(rollouts, policy)
    return {"errors": result.apply_result.errors, "commits": result.apply_result.metadata["commit_results"]}


async def as_upload(client: AsyncHTTPClient, sessions: list[dict]) -> dict:
    """Return what our upload makes of the sessions, and then of the same sessions."""
    from trainer.remote.session_upload import Pace, SessionUpload, Way  # noqa: PLC0415  # only this needs ours

    upload = SessionUpload(client, Pace(timeout=120.0))

    async def all_of_them() -> list[Way]:
        return await asyncio.gather(*(upload.run(s["id"], s["messages"]) for s in sessions))

    first, second = await all_of_them(), await all_of_them()
    return {"first": list(map(asdict, first)), "second": list(map(asdict, second))}


async def main(how: str, url: str, sessions: list[dict]) -> None:
    """Do it, and print what came of it."""
    client = AsyncHTTPClient(url=url, profile_enabled=False)
    await client.initialize()
    told = await {"client": as_client, "trainer": as_trainer, "upload": as_upload}[how](client, sessions)
    await client.close()
    sys.stdout.write(f"\n{json.dumps(told)}\n")


if __name__ == "__main__":
    _, *words, file = sys.argv
    asyncio.run(main(*words, json.loads(Path(file).read_text("utf-8"))))
