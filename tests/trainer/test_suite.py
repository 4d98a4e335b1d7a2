from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import git, make_store
from trainer.domain import Case, Rubric
from trainer.suite import check_apart, chosen, load_suites, read_suite, suite_digest
from xpstore.errors import UsageError


def case(name: str, **fields) -> Case:
    return Case(name=name, rubric=Rubric(name="r"), **fields)


def lines(*cases: Case) -> bytes:
    return "".join(c.model_dump_json() + "\n" for c in cases).encode()


A = case("a", input={"request": "refund 12", "expected_actions": [{"name": "refund", "arguments": {}}]})
B = case("b", input={"request": "cancel 7"})


def test_one_case_per_line():
    assert read_suite(lines(A, B), "cases/test.jsonl") == [A, B]
    assert read_suite(b"\xef\xbb\xbf" + lines(A) + b"\n  \r\n" + lines(B).rstrip(), "f") == [A, B]
    assert read_suite(b"", "f") == []


GOOD = A.model_dump_json().encode()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"{not json", r"f:2: no JSON"),
        (b"\xff", r"f:2: no JSON"),
        (b"[]", r"f:2: case: "),
        (b"{}", r"f:2: name: Field required"),
        (b'{"name": "x", "rubric": {"name": "r"}, "nmae": 1}', r"f:2: nmae: Extra inputs"),
        (b'{"name": " ", "rubric": {"name": "r"}}', r"f:2: the case has no name"),
        (b'{"name": "x", "name": "y", "rubric": {"name": "r"}}', r"f:2: .*'name' stands there twice"),
        (b'{"name": "x", "rubric": {"name": "r"}, "input": {"n": NaN}}', r"f:2: .*NaN"),
        (b'{"name": "x", "rubric": {"name": "r"}, "input": {"n": 1e999}}', r"f:2: "),
        (b'{"name": "x\\ud800", "rubric": {"name": "r"}}', r"f:2: "),
        (b"[" * 100_000, r"f:2: .*nested too deeply"),
        (GOOD, r"f:2: the case of line 1 is called 'a' too"),
        (lines(case("c", input=A.input)), r"f:2: the case of line 1 is the same task too"),
    ],
)
def test_anything_else_is_one_error_with_its_line(line, why):
    with pytest.raises(UsageError, match=why) as caught:
        read_suite(GOOD + b"\n" + line, "f")
    assert caught.value.hint


@pytest.mark.parametrize(
    "twin", [A, case("a"), case("other", input=A.input), case("other", input={"request": "refund 12"})]
)
def test_a_case_in_two_suites_is_a_leak(twin):
    check_apart({"train": [A], "test": [B]})
    with pytest.raises(UsageError, match="of suite 'test' is in suite 'train' too, as 'a'"):
        check_apart({"train": [A], "gate": [B], "test": [twin]})


def test_the_digest_is_of_the_cases_not_of_their_order():
    assert suite_digest([A, B]) == suite_digest([B, A])
    assert suite_digest([A, B]) != suite_digest([A])


@given(st.lists(st.text(min_size=1).filter(str.strip), unique=True, max_size=5))
def test_what_is_written_is_read(names):
    cases = [case(name) for name in names]
    assert read_suite(lines(*cases), "f") == cases


def test_suites_come_from_the_commit_of_a_store_in_a_folder(tmp_path):
    location = make_store(tmp_path / "code")
    folder = tmp_path / "code" / "cases"
    folder.mkdir()
    (folder / "train.jsonl").write_bytes(lines(A))
    (folder / "extra.jsonl").write_bytes(lines(B))
    git(tmp_path / "code", "add", "cases")
    git(tmp_path / "code", "commit", "-q", "-m", "Add cases")
    (folder / "train.jsonl").write_bytes(b"not committed")
    assert load_suites(location, "main", "train") == {"train": [A]}
    assert load_suites(location, "main", "extra") == {"train": [A], "extra": [B]}
    with pytest.raises(UsageError, match=r"no cases in cases/test.jsonl at main") as caught:
        load_suites(location, "main", "test")
    assert "train" in caught.value.hint
    with pytest.raises(UsageError, match=r"no cases in cases/train.jsonl at main~1"):
        load_suites(location, "main~1", "train")


def test_a_leak_is_found_whatever_is_asked_for(tmp_path):
    location = make_store(tmp_path)
    (tmp_path / "cases").mkdir()
    for suite in ("train", "gate", "test"):
        (tmp_path / "cases" / f"{suite}.jsonl").write_text(
            json.dumps(case(suite, input=A.input).model_dump(mode="json")), encoding="utf-8"
        )
    git(tmp_path, "add", "cases")
    git(tmp_path, "commit", "-q", "-m", "Add cases")
    with pytest.raises(UsageError, match="is in suite 'train' too"):
        load_suites(location, "main", "gate")


def test_cases_are_chosen_by_name_in_the_order_of_the_suite():
    cases = [case(name) for name in ("a", "b", "c")]
    assert chosen(cases, [], "gate") == cases
    assert [found.name for found in chosen(cases, ["c", "a", "c"], "gate")] == ["a", "c"]
    with pytest.raises(UsageError, match="suite 'gate' has no case 'refunds'") as error:
        chosen([*cases, case("refund")], ["refunds"], "gate")
    assert "did you mean 'refund'?" in error.value.hint
