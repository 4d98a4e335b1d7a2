from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, make_store, page, upsert
from xpstore import evidence, layout, record, second_record
from xpstore.commit import commit
from xpstore.hashing import blob_id
from xpstore.second_record import NOTHING, Step
from xpstore.trailers import parse_trailers

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location
    from xpstore.plan import PolicyUpdatePlan


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def landed(loc: Location) -> tuple[PolicyUpdatePlan, str, dict[str, Step]]:
    """Return a plan of two new pages, its message, and what it did."""
    plan = make_plan(loc, upsert("a", page("a")), upsert("b", page("b")))
    (done,) = commit(loc, [plan], "main")
    steps = {item.target_experience_name: Step(item.base_blob, item.result_blob) for item in plan.items}
    return plan, loc.repo.commit(done.commit).message, steps


def test_the_record_says_what_landed_and_all_else_of_the_first(loc: Location) -> None:
    plan, message, made = landed(loc)
    merged = blob_id(page("a", "Merged."))
    text, (file,) = second_record.of(loc, message, made, {"a": Step(made["a"].after, merged)})
    new = evidence.parse_json(file.data, file.path)
    old = record.record_of(plan)
    assert [(i["target_experience_name"], i["base_blob"], i["result_blob"]) for i in new["items"]] == [
        ("a", made["a"].after, merged)
    ]
    differs = {key for key in old if old[key] != new[key]}
    assert differs == {"items", "digest", "checksum"}
    assert new["checksum"] == record.checksum_of(new)
    assert file.path == layout.record_path(plan.plan_id, str(new["digest"]))
    assert text == message.replace(plan.digest, str(new["digest"]))
    assert parse_trailers(text)["Plan-Digest"] == (new["digest"],)


def test_a_page_that_is_gone_in_the_end_is_a_deletion(loc: Location) -> None:
    _, message, made = landed(loc)
    _, (file,) = second_record.of(loc, message, made, {"b": Step(made["b"].after, NOTHING)})
    (item,) = evidence.parse_json(file.data, file.path)["items"]
    assert (item["kind"], item["result_blob"]) == ("delete_experience", "0" * 40)


def test_base_and_run_are_those_of_the_commit(loc: Location) -> None:
    plan, message, made = landed(loc)
    again = message.replace("Run-Id: run-1", "Run-Id: run-2").replace(str(plan.base_commit), "1" * 40)
    _, (file,) = second_record.of(loc, again, made, {"a": made["a"]})
    new = evidence.parse_json(file.data, file.path)
    assert (new["run_id"], new["base_commit"]) == ("run-2", "1" * 40)


def test_commits_that_are_not_what_a_record_says_keep_their_message(loc: Location) -> None:
    _, message, made = landed(loc)
    other = {"a": Step(NOTHING, blob_id("amended"))}
    assert second_record.of(loc, message, other, other) == (message, [])
    assert second_record.of(loc, "By hand\n", made, made) == ("By hand\n", [])
    both = message + "\n" + message.replace("Plan-Id: ", "Plan-Id: 0")
    assert second_record.of(loc, both, made, {}) == (both, [])
    lost = message.replace("Plan-Digest: ", "Plan-Digest: 0")
    assert second_record.of(loc, lost, made, {}) == (lost, [])
    bad = message.replace("Plan-Digest: ", "Plan-Digest: ../")
    assert second_record.of(loc, bad, made, {}) == (bad, [])
