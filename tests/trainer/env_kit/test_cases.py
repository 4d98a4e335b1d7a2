from __future__ import annotations

import asyncio

import pytest

from tests.env_world import GOLD, Words, word_case
from trainer.env_kit.aside import Aside
from trainer.env_kit.cases import CaseBook
from trainer.remote.protocol import CaseJson, CasesQuery
from trainer.remote.values import case_id, sent_case
from trainer.web.problem import WebError
from xpstore.errors import UsageError

ASIDE = Aside()


class Counted(Words):
    asked = 0

    def cases(self, query):
        self.asked += 1
        return super().cases(query)


class Taking(Words):
    case_input = ("user_query",)


def case_book(runtime, **options):
    return CaseBook(runtime, ASIDE, **options)


def page(book, **query):
    return asyncio.run(book.page(CasesQuery(**query)))


def whole(book, case, told=None, **sent):
    return asyncio.run(book.whole(sent_case(case, ()).model_copy(update=sent), told))


def test_pages():
    runtime = Counted(5)
    book = case_book(runtime)
    first = page(book, limit=2, split="test")
    assert ([c.name for c in first.cases], first.next_cursor) == (["test-0", "test-1"], "2")
    last = page(book, limit=2, split="test", cursor="4")
    assert ([c.name for c in last.cases], last.next_cursor) == (["test-4"], None)
    assert page(book, limit=5, split="test").next_cursor is None
    assert runtime.asked == 1


@pytest.mark.parametrize("cursor", ["-1", "5", "99999999999", "a", "", "1.0", "²"])
def test_a_cursor_that_nobody_gave(cursor):
    with pytest.raises(WebError, match="cursor"):
        page(case_book(Words(5)), cursor=cursor)


def raising(error):
    class Broken(Words):
        def cases(self, query):
            raise error

    return Broken()


class Odd(Words):
    def cases(self, query):
        return {"": None, "train": ["train-0"]}[query.split]


@pytest.mark.parametrize("error", [KeyError("gold"), SystemExit(3), KeyboardInterrupt(), RecursionError()])
def test_what_an_author_raises_is_told_and_ends_nothing(error):
    with pytest.raises(WebError, match=f"cannot say its cases: {type(error).__name__}") as caught:
        page(case_book(raising(error)))
    assert caught.value.status == 500


@pytest.mark.parametrize("split", ["", "train", "other"])
def test_what_an_author_returns_is_checked(split):
    with pytest.raises(WebError, match=r"cannot say its cases: (TypeError|KeyError)"):
        page(case_book(Odd()), split=split)


def test_a_slow_author_is_asked_once():
    runtime = Counted(5)
    book = case_book(runtime)

    async def work():
        await asyncio.gather(*(book.page(CasesQuery(split="test")) for _ in range(8)))

    asyncio.run(work())
    assert runtime.asked == 1


def test_no_cases():
    assert page(case_book(Words(0))).cases == ()


def test_a_slice_that_there_is_not():
    with pytest.raises(UsageError, match="no split 'moon'"):
        page(case_book(Words()), split="moon")


def test_labels_are_not_served_unless_the_operator_says_so():
    assert GOLD not in page(case_book(Words())).model_dump_json()
    assert GOLD in page(case_book(Words(), labels=True)).model_dump_json()


def test_two_cases_of_one_name():
    class Twice(Words):
        def cases(self, query):
            return [word_case(0), word_case(0)]

    with pytest.raises(WebError, match="one name"):
        page(case_book(Twice()))


def test_the_runtime_gets_its_own_case_with_labels():
    case = word_case(1)
    book = case_book(Words())
    assert whole(book, case, case_id(case)) == case
    assert whole(book, case) == case, "a client that sends no id"
    assert case.input["ground_truth"] == GOLD


def test_a_case_that_the_runtime_does_not_have():
    for case in (word_case(99), word_case(1, "moon")):
        assert whole(case_book(Words()), case, case_id(case)) == sent_case(case, ()).case()


def test_another_case_under_a_name_that_the_runtime_has():
    case = word_case(1)
    other = case.model_copy(update={"input": {"user_query": "something else"}})
    for told in (case_id(other), None):
        with pytest.raises(WebError, match="another one here") as caught:
            whole(case_book(Words()), other, told)
        assert caught.value.status == 409
        assert whole(case_book(Taking()), other, told).input == other.input, "it works on cases of others"


def test_a_case_json_without_anything():
    bare = CaseJson.model_validate({"name": "train-1", "rubric": {"name": "said"}})
    assert asyncio.run(case_book(Words()).whole(bare, None)) == word_case(1)
