"""What somebody decided against stays to be found: its commits under a ref, its words through `xp log -S`.

A branch that lands moves to the commits that landed. Where those lack something it said, the commits that
said it would be in no history any more: the old tip is kept as `refs/xpstore/left-out/<commit>`. Such a ref
is of this clone alone; the patches of plans are in the evidence, which is shared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import events, layout, publish
from xpstore.git import Move

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.events import Entry
    from xpstore.location import Location

FOLDER = "refs/xpstore/left-out/"


def keep(loc: Location, tip: str) -> str:
    """Keep a commit, and with it what it says, under a ref; return the ref. Once more changes nothing."""
    ref = f"{FOLDER}{tip}"

    def attempt() -> bool:
        is_kept = loc.repo.ref(ref) == tip
        return is_kept or publish.publish(loc.repo, [], [Move(ref, None, tip, "xp: left out of what landed")])

    publish.retried(loc.repo, attempt, ref)
    return ref


def saying(loc: Location, text: str, spec: str = "") -> Iterator[Entry]:
    """Yield the commits that add or remove a text in experiences, newest first; no merges.

    On the branch or range `spec`; without it on every branch, here or of a remote, and in what was left out.
    Raises NotFoundError for an unknown ref.
    """
    options = (f"-S{text}", "--no-merges", "--full-history")
    if spec:
        yield from events.read(loc, spec, options=options)
        return
    refs = {
        ref: tip
        for prefix in (layout.HEADS, layout.REMOTES, FOLDER)
        for ref, tip in loc.repo.refs(prefix).items()
        if not ref.endswith("/evidence")
    }
    main = loc.tip_of(loc.main_ref)
    tips = list(dict.fromkeys(([main] if main else []) + list(refs.values())))
    if tips:
        yield from events.read(loc, tips[0], options=(*options, *tips[1:]))
