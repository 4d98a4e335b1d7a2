from __future__ import annotations

from xpstore.location import Location
from xpstore.snapshot import snapshot


def test_promote_sets_the_status_and_nothing_else(store):
    file = store.path / "experiences" / "old-refund.md"
    before = file.read_text(encoding="utf-8")
    answer = store.json("promote", "old-refund")
    assert (answer["status"], answer["changed"]) == ("production", ["old-refund"])
    page = snapshot(Location.find(store.path), "main").by_name["old-refund"]
    assert page.status == "production"
    changed = [line for line in page.text.splitlines() if line not in before.splitlines()]
    assert changed == ["status: production"]
    assert store.git("status", "--porcelain") == ""
