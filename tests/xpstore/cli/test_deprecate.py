from __future__ import annotations

from xpstore.location import Location
from xpstore.snapshot import snapshot


def test_deprecate_sets_the_status_and_nothing_else(store):
    file = store.path / "experiences" / "refund-item.md"
    before = file.read_text(encoding="utf-8")
    answer = store.json("deprecate", "refund-item")
    assert (answer["status"], answer["changed"]) == ("deprecated", ["refund-item"])
    page = snapshot(Location.find(store.path), "main").by_name["refund-item"]
    assert page.status == "deprecated"
    changed = [line for line in page.text.splitlines() if line not in before.splitlines()]
    assert changed == ["status: deprecated"]
    assert store.git("status", "--porcelain") == ""
