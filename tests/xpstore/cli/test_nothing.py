from __future__ import annotations

import pytest


@pytest.fixture
def untaught(store):
    """Main has no experiences, two candidates have."""
    for branch in ("train/a", "train/b"):
        store.git("branch", branch)
        store.git("checkout", "-q", branch)
        store.write(f"page-{branch[-1]}", "Refund it.\n")
        store.commit()
    store.git("checkout", "-q", "main")
    store.git("rm", "-q", "-r", "experiences")
    store.commit()
    return store


@pytest.mark.parametrize(("verb", "code"), [("context", 0), ("search", 1)])
def test_a_hint_at_candidates(untaught, verb, code):
    lines = [
        "there are no experiences on main",
        "hint: not landed yet, and readable with --ref train/b, 1 more in xp status",
    ]
    assert untaught.xp(verb, "refund") == (code, "", "\n".join(lines) + "\n")
    untaught.git("branch", "-D", "train/b")
    assert untaught.xp(verb, "refund")[2].endswith("readable with --ref train/a\n")
    assert untaught.xp(verb, "zzzzqqq", "--ref", "train/a")[2].startswith("no experience on train/a ")


def test_a_store_that_learned_nothing_yet(untaught):
    untaught.git("branch", "-D", "train/a", "train/b")
    assert untaught.xp("context", "refund")[2].endswith("hint: 'xp train FILE...' learns from recordings.\n")
