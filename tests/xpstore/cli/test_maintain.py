from __future__ import annotations

from xpstore.location import Location
from xpstore.maintain import alone


def test_maintain_tells_what_it_did(store):
    code, out, err = store.xp("maintain")
    assert (code, err) == (0, "")
    assert "folded into 1." in out
    assert store.json("maintain") == {"ran": True, "packs_before": 1, "packs_after": 1, "swept": 0}


def test_only_one_process_maintains(store):
    with alone(Location.find(store.path).repo):
        assert store.xp("maintain")[1] == "Another process is at it.\n"
        assert store.json("maintain") == {"ran": False}
