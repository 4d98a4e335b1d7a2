from trainer.importers.form import chosen, texts


def test_ids_are_texts_or_whole_numbers_each_once():
    assert texts("a", 7, None, "", True, 1.5, ["x"], "a", 0) == ("a", "7", "0")


def test_what_says_nothing_is_left_out():
    source = {"a": 1, "b": None, "c": "", "d": [], "e": False, "f": 0}
    assert chosen(source, "a", "b", "c", "d", "e", "f", "g") == {"a": 1, "e": False, "f": 0}
