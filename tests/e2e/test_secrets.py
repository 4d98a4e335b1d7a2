"""A secret in a recording reaches nothing that the store writes or says; an example in a manual may."""

from __future__ import annotations

import json

from tests.builders import every_object, git, make_plan, make_store, page, texts, upsert
from tests.e2e.bad import Xp, chat
from tests.trainer.doubles import SECRET
from xpstore.commit import commit
from xpstore.landing import land

EXAMPLE = "AKIAIOSFODNN7EXAMPLE"


def test_a_token_in_a_recording_is_in_no_object_message_file_or_report(tmp_path, capsys):
    xp = Xp(capsys)
    loc = make_store(tmp_path / "s")
    file = tmp_path / "told.jsonl"
    told = [chat(number) for number in range(8)]
    for row in told:
        row["messages"].append({"role": "user", "content": f"my token is {SECRET}"})
        row["case"] = f"{row['case']} {SECRET}"
    file.write_text("".join(json.dumps(row) + "\n" for row in told))
    said = [xp(loc.repo.place, "train", str(file), "--branch", "main", *more) for more in (["--json"], [])]
    said += [xp(loc.repo.place, *verb) for verb in (("log",), ("show",), ("status",), ("verify",))]
    everything = every_object(loc.repo.place)
    assert b"my token is" in everything
    assert SECRET.encode() not in everything
    assert all(SECRET not in answer.out + answer.err for answer in said)
    assert SECRET not in git(loc.repo.place, "log", "--all", "--format=%B%D%an")
    assert SECRET not in "".join(p.read_text() for p in loc.repo.place.glob("experiences/*"))


def test_a_key_of_a_manual_may_stand_in_a_lesson(tmp_path):
    loc = make_store(tmp_path / "s")
    text = page("aws", f"Where the manual shows {EXAMPLE}, ask for the real one.")
    commit(loc, [make_plan(loc, upsert("aws", text), branch="train/x", rollouts=())], "train/x")
    land(loc, "train/x")
    assert texts(loc, "main") == {"aws": text}
