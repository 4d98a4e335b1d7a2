from __future__ import annotations

from collections import Counter

from tests.retrieval import PAGES, TASKS, policy, recall
from xpstore.page_index import PageIndex
from xpstore.serving import read_for


def test_nine_of_ten_tasks_find_their_page_among_the_first_three():
    assert len({task.task for task in TASKS}) == len(TASKS) >= 60
    assert Counter(name for task in TASKS for name in task.pages).keys() == PAGES.keys()
    with PageIndex.of(policy()) as index:

        def names(task: str) -> list[str]:
            return [page.name for page, _ in index.search(task, 3, given=True)]

        for lang in ("en", "zh"):
            assert recall(names, 3, lang) >= 0.9, lang
        assert recall(names, 1) >= 0.8


def test_an_agent_is_given_what_the_search_finds():
    reading = read_for(policy(), "顾客要求退款,商品已经拆封了", 1000)
    assert reading.pages[0].name == "退款"
