"""What people say stays said when a model learns: their statements, and what they took back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, page
from tests.e2e.llm import Learner, make_template
from tests.llm_world import LESSONS, proposal, recording, teach, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.llm_server import LlmServer, Seen

RULE = LESSONS["refund"]


@pytest.fixture
def store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, llm_server: LlmServer
) -> Learner:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "old.jsonl", [recording("refund", n, case="refund") for n in range(2)])
    write(tmp_path / "new.jsonl", [recording("refund", 7, case="refund")])
    return Learner(make_template(tmp_path / "s", retries=0), capsys, monkeypatch).asks(teach(llm_server))


def failed(seen: Seen) -> list[int]:
    return [int(number) for number in re.findall(r"^trial (\d+): failed", seen.content, re.MULTILINE)]


def rules(store: Learner) -> list[str]:
    return [name for name, text in store.pages("main").items() if f"- {RULE}\n" in text]


def test_what_was_undone_stays_undone_until_other_trials_show_it(store: Learner, llm_server: LlmServer):
    llm_server.on("edit", lambda seen: {"edits": [proposal("refund", RULE, failed(seen))], "nothing": ""})
    store.train("old.jsonl", "--branch", "main")
    assert rules(store) == ["refund"]
    git(store.path, "revert", "--no-edit", "HEAD")
    assert rules(store) == []
    report = store.train("old.jsonl", "--branch", "main", "--again")
    assert (report["plans"], rules(store)) == ([], [])
    assert "people took this statement back" in next(iter(report["nothing"].values()))
    assert f"- refund: {RULE}" in llm_server.of("edit")[-2].content
    report = store.train("new.jsonl", "--branch", "main")
    assert rules(store) == ["refund"]
    assert report["plans"][0]["lessons"] == 1
    message = git(store.path, "log", "-1", "--format=%B", "main")
    assert "Seen in 1 trial of one case, 1 failed." in " ".join(message.split())
    assert "Rollouts: 1 passed=0" in message


def test_a_page_of_people_grows_and_keeps_every_byte(store: Learner, llm_server: LlmServer):
    ours = page("refund", "Do refund at once.  ", "Be polite.") + "\n## Notes\n\n* ours\n"
    (store.path / "experiences").mkdir(exist_ok=True)
    (store.path / "experiences/refund.md").write_text(ours, encoding="utf-8")
    git(store.path, "add", "-A")
    git(store.path, "commit", "-qm", "Ours")
    turns = [
        {"edits": [{**proposal("refund", "Rudeness pays."), "action": "update", "page": 1, "statement": 2}]},
        {"edits": [proposal("refund", "Do not refund at once."), proposal("refund", RULE)]},
    ]
    llm_server.on("edit", [{**turn, "nothing": ""} for turn in turns])
    report = store.train("old.jsonl", "--branch", "main")
    assert len(report["plans"]) == 1
    assert "statement 2 is fixed" in llm_server.of("edit")[1].last
    assert store.pages("main")["refund"] == ours.replace("- Do refund", f"- {RULE}\n- Do refund")
