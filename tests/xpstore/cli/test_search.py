from __future__ import annotations

import json


def test_search_prints_hits_best_first(store):
    code, out, err = store.xp("search", "cancelling", "a", "reservation")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].split()[1:] == ["cancel-flight", "Cancelling", "reservations"]


def test_search_marks_what_agents_are_not_given(store):
    code, out, _ = store.xp("search", "refunds", "-n", "5")
    assert code == 0
    assert "old-refund (archived)" in out


def test_search_json_names_ref_commit_and_hits(store):
    head = store.git("rev-parse", "HEAD")
    answer = store.json("search", "退票", "-n", "1")
    assert (answer["ref"], answer["commit"], answer["query"], answer["unreadable"]) == (
        "main",
        head,
        "退票",
        {},
    )
    assert [(hit["name"], hit["status"]) for hit in answer["hits"]] == [("退票", "production")]


def test_nothing_found_is_a_no(store):
    assert store.xp("search", "zzzzqqq") == (1, "", "no experience on main fits the query\n")
    code, out, err = store.xp("search", "zzzzqqq", "--json")
    assert (code, json.loads(out)["hits"], err) == (1, [], "")


def test_search_reads_the_ref_that_is_asked_for(store):
    store.git("checkout", "-q", "-b", "train/x")
    store.write("zebra", "Feed the zebra.\n")
    commit = store.commit()
    assert store.xp("search", "zebra")[0] == 1
    assert store.json("search", "zebra", "--ref", "train/x")["commit"] == commit
    code, _, err = store.xp("search", "zebra", "--ref", "nowhere")
    assert code == 1
    assert err.startswith("error: ")


def test_a_broken_page_is_named_and_hides_no_other(store):
    store.write("broken", "---\na: [\n---\nrefund\n")
    store.commit()
    code, out, err = store.xp("search", "refund")
    assert code == 0
    assert "refund-item" in out
    assert "not searched: broken: " in err


def test_a_query_that_looks_like_an_option_needs_the_dashes(store):
    assert store.xp("search", "--refund")[0] == 2
    assert store.xp("search", "--", "--refund")[0] == 0
