from __future__ import annotations

from xpstore.location import Location
from xpstore.snapshot import snapshot


def test_archive_sets_the_status_and_nothing_else(store):
    file = store.path / "experiences" / "退票.md"
    before = file.read_text(encoding="utf-8")
    answer = store.json("archive", "退票")
    assert (answer["status"], answer["changed"]) == ("archived", ["退票"])
    page = snapshot(Location.find(store.path), "main").by_name["退票"]
    assert page.status == "archived"
    changed = [line for line in page.text.splitlines() if line not in before.splitlines()]
    assert changed == ["status: archived"]
    assert store.git("status", "--porcelain") == ""
