from __future__ import annotations

from tests.trainer.offline.world import call, facts, shop
from trainer.offline.corpus import Corpus, changes_something
from trainer.offline.facts import read_facts
from trainer.offline.objects import Ref, Term


def of_shop() -> Corpus:
    return Corpus.of([read_facts(r, r.evaluation) for r in shop(6, 3)])  # type: ignore[arg-type]


def test_reading_and_writing_are_told_apart() -> None:
    corpus = of_shop()
    assert corpus.writing == ("cancel_order",)
    assert corpus.reading == ("get_order",)
    assert corpus.identifying == {"order_id"}
    assert changes_something("createOrder")
    assert not changes_something("searchOrders")


def test_a_tool_that_repeats_itself_reads() -> None:
    asked = call("weather", {"place": "x"}, {"sun": True})
    corpus = Corpus.of([facts([asked, asked], case=str(n), trial=n) for n in range(3)])
    assert corpus.writing == ()


def test_keys_with_many_values_are_instance_data() -> None:
    calls = [[call("make", {"name": f"a{'b' * n}", "kind": "x"}, {})] for n in range(15)]
    corpus = Corpus.of([facts(c, case=str(n)) for n, c in enumerate(calls)])
    assert set(corpus.values) == {"kind"}
    assert corpus.is_vocabulary(Term("value", Ref("kind")), "x")
    assert not corpus.is_vocabulary(Term("value", Ref("name")), "ab")


def test_the_order_of_rollouts_does_not_matter() -> None:
    made = [read_facts(r, r.evaluation) for r in shop(4, 2)]  # type: ignore[arg-type]
    assert [r.id for r in Corpus.of(made).rollouts] == [r.id for r in Corpus.of(made[::-1]).rollouts]


def test_listings_say_where_identifiers_can_be_looked_up() -> None:
    messages = [
        call("get_customer", {"customer_id": "C"}, {"orders": ["O1", "O2"]}),
        call("get_order", {"order_id": "O2"}, {}),
    ]
    corpus = Corpus.of([facts(messages, case=str(n), trial=n) for n in range(3)])
    assert corpus.listings == (("get_order", "order_id", "get_customer", "orders"),)
