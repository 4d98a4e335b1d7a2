from __future__ import annotations

from xpstore.wording import Wanted, characters, shingles, telling, terms


def test_terms_cut_unspaced_scripts_into_pairs_and_keep_marks():
    assert terms("Ｂook_flight 退票费 हिन्दी x") == ["book", "flight", "退票", "票费", "हिन्दी", "x"]
    assert terms("票") == ["票"]
    assert shingles("abc") == {"abc"}
    assert shingles("") == frozenset()


def test_what_of_a_query_a_text_contains():
    wanted = Wanted.of("refund 退票")
    assert wanted.count == 4
    assert wanted.share_in("we refund 退票 票费") == 1
    assert wanted.share_in("we refund it") == 3 / 4
    assert wanted.share_in("退票") == 1 / 4
    assert Wanted.of("ab cd").share_in("ab 退票 cd") == 1  # as if nothing stood between them
    assert Wanted.of("!").count == 0


def test_words_of_any_question_tell_nothing_unless_there_are_no_others():
    assert telling(terms("How do I NOT cancel it?")) == ["not", "cancel"]
    assert telling(terms("what is it")) == ["what", "is", "it"]
    assert characters("我想退钱,退 x") == ("退", "钱")


def test_likeness_goes_by_characters_where_pairs_are_written_otherwise():
    wanted = Wanted.of("退钱")
    assert wanted.share_in("退款 款项") == 0
    assert wanted.likeness("退款 款项") == 1 / 2
    assert Wanted.of("refund").likeness("we refunds") == 1
    assert Wanted.of("的了").likeness("的了") == 0
