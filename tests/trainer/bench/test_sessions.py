from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.builders import make_plan, page, upsert
from tests.env_world import Words, serving
from tests.served import service
from tests.session_server import SessionServer
from tests.session_world import quick
from trainer.bench.report import lessons_at
from trainer.bench.run import Bench, open_store, run_bench
from trainer.bench.sessions import learner_name, session_trainer
from trainer.env_kit.service import make_service
from trainer.loop import LoopOptions
from trainer.remote.client import JsonClient
from xpstore.commit import commit
from xpstore.location import Location
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

BENCH = Bench("words", "", LoopOptions(trials=2, eval_trials=1, train_limit=2, eval_limit=1, seed=1))


def test_rollouts_become_sessions_and_the_policy_is_read_where_the_service_commits(tmp_path: Path):
    location = Location.find(open_store(tmp_path))
    commit(location, [make_plan(location, upsert("manners", page("manners", "Ask.")))], "train/live")
    sessions = SessionServer()
    try:
        trainer = session_trainer(sessions.url, "")
        what = replace(BENCH, trainer=trainer, learner=learner_name(sessions.url))
        with serving(make_service(Words())) as url:
            report = asyncio.run(run_bench(tmp_path, what, lambda: JsonClient(url, retries=0)))
    finally:
        sessions.close()
    assert len(sessions.archives) == 4
    assert report.exit_code == 0
    [epoch] = report.loop.epochs
    assert epoch.changed
    assert report.loop.final.commit == location.tip_of("train/live")


def test_a_lesson_of_the_real_service_is_read_by_the_agent_and_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    quick(monkeypatch)
    location = Location.find(open_store(tmp_path))
    words = Words()
    with serving(service(location)) as sessions, serving(make_service(words)) as url:
        what = replace(BENCH, trainer=session_trainer(sessions, ""), learner=learner_name(sessions))
        report = asyncio.run(run_bench(tmp_path, what, lambda: JsonClient(url, retries=0)))
        again = asyncio.run(run_bench(tmp_path, what, lambda: JsonClient(url, retries=0)))
    assert report.exit_code == 0
    [epoch] = report.loop.epochs
    assert epoch.changed
    assert not epoch.errors
    tip = location.tip_of("train/live")
    assert report.loop.final.commit == tip == lessons_at(report)
    assert report.loop.baseline.commit == location.tip_of("main") != tip
    pages = {page.name for page in snapshot(location, "train/live").policies}
    assert pages
    assert {page.name for page in words.requests[-1].experiences.policies} == pages
    assert again.loop.final.commit == location.tip_of("train/live") == tip  # nothing is taught twice
    assert again.exit_code == 0


def test_another_service_is_another_run():
    assert learner_name("http://127.0.0.1:1933/") == learner_name("http://127.0.0.1:1933")
    assert learner_name("http://127.0.0.1:1934") != learner_name("http://127.0.0.1:1933")
