from __future__ import annotations


def test_context_prints_served_pages_without_front_matter(store):
    code, out, err = store.xp("context", "refund", "the", "item")
    assert (code, err) == (0, "")
    assert out.startswith("# refund-item\n\nRefunds of delivered items\n\n## Approach\n\n- Ask for")
    assert "old-refund" not in out
    assert "status:" not in out


def test_context_keeps_whole_pages_within_the_budget(store):
    whole = store.json("context", "refund or cancel 退票")
    assert len(whole["pages"]) == 3
    assert whole["tokens"] == sum(page["tokens"] for page in whole["pages"])
    best = whole["pages"][0]
    tight = store.json("context", "refund or cancel 退票", "--budget", str(best["tokens"]))
    assert [page["name"] for page in tight["pages"]] == [best["name"]]
    assert {page["name"] for page in tight["left_out"]} == {page["name"] for page in whole["pages"][1:]}


def test_context_says_what_did_not_fit(store):
    _, out, err = store.xp("context", "refund cancel reservation", "--budget", "30")
    assert out.count("# ") >= 1
    assert "left out for the budget: " in err


def test_nothing_to_read_is_fine(store):
    said = "no experience on main that is served fits the task\n"
    assert store.xp("context", "zzzzqqq") == (0, "", said)
    assert store.json("context", "zzzzqqq")["pages"] == []


def test_context_that_the_budget_leaves_empty_says_what_is_left_out(store):
    code, out, err = store.xp("context", "refund", "--budget", "1")
    assert (code, out) == (0, "")
    assert err.startswith("left out for the budget: refund-item (about ")
    assert [page["name"] for page in store.json("context", "refund", "--budget", "1")["left_out"]] == [
        "refund-item"
    ]


def test_context_gives_the_pages_for_every_task_first(store):
    store.write("manners", "---\nalways: true\n---\n\nBe kind.\n")
    store.commit()
    answer = store.json("context", "refund")
    assert [page["name"] for page in answer["pages"]] == ["manners", "refund-item"]
    help_text = store.xp("context", "--help")[1]
    assert "`always: true`" in help_text


def test_context_names_pages_it_cannot_read(store):
    store.write("broken", "---\na: [\n---\n")
    store.commit()
    assert "broken" in store.json("context", "refund")["unreadable"]
    assert "not read: broken" in store.xp("context", "refund")[2]
