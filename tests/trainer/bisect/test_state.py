from __future__ import annotations

from trainer.bisect import state
from trainer.bisect.suspects import between
from xpstore import derived

READ = {"a": frozenset({"refund", "退款"}), "b": frozenset()}


def test_what_was_read_is_kept_and_may_be_lost(broken):
    name = state.name_of(between(broken, "good", "main"), "desk")
    assert state.load(broken.repo, name) == {}
    state.save(broken.repo, name, READ)
    assert state.load(broken.repo, name) == READ
    path = derived.path(broken.repo, name)
    path.write_bytes(path.read_bytes()[:-5])
    assert state.load(broken.repo, name) == {}


def test_another_range_or_world_has_another_file(broken):
    span, shorter = between(broken, "good", "main"), between(broken, "good", "main~1")
    names = {state.name_of(*what) for what in ((span, "desk"), (span, "shop"), (shorter, "desk"))}
    assert len(names) == 3
