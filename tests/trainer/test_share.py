from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.trainer.doubles import rollout
from trainer.share import Share, share_of

IDS = st.integers(0, 2**80 - 1).map(lambda n: f"{n:020x}")


def test_the_first_ids_that_fit():
    sizes = {"cc": 1, "aa": 5, "bb": 5}
    assert share_of(sizes) == {"aa", "bb", "cc"}
    assert share_of(sizes, size=9) == {"aa"}
    assert share_of(sizes, rollouts=2) == {"aa", "bb"}
    assert share_of(sizes, size=4) == share_of({}) == set()


@given(st.lists(st.tuples(st.text(max_size=5), st.integers(1, 9)), max_size=12, unique_by=lambda p: p[0]))
@settings(max_examples=30, deadline=None)
def test_a_stream_keeps_the_same_share_in_any_order(rows):
    known = {rollout(name).id: (rollout(name), size) for name, size in rows}
    expected = share_of({i: size for i, (_, size) in known.items()}, rollouts=5, size=20)
    for order in (known, reversed(known)):
        share = Share(rollouts=5, size=20)
        for rollout_id in order:
            share.offer(*known[rollout_id])
        assert [r.id for r in share.rollouts] == sorted(expected)
