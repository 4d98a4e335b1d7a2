"""ExperienceSet of a branch or commit: the policy as it stood there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xpstore import gitcli, layout
from xpstore.errors import InvalidNameError
from xpstore.experience import Experience, ExperienceSet
from xpstore.names import check_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from xpstore.location import Location
    from xpstore.objects import Entry

SUFFIX = ".md"


def snapshot(loc: Location, ref: str, *, versions: bool = False) -> ExperienceSet:
    """Return the experiences at a branch, tag or commit, sorted by name; none where the folder is missing.

    With `versions` each knows how many first-parent commits changed its file. Files that cannot be an
    experience (an invalid name, no UTF-8) are left out and named with the reason in metadata["skipped"].
    Raises NotFoundError for an unknown ref.
    """
    commit = loc.repo.resolve(ref)
    here = loc.at(commit)
    root = here.in_tree(layout.EXPERIENCES)
    entries = here.repo.children(here.repo.commit(commit).tree, root)
    counts = _versions(here, commit, root) if versions else None
    policies: list[Experience] = []
    skipped: dict[str, JsonValue] = {}
    for entry in entries:
        if entry.is_file and entry.name.endswith(SUFFIX):
            try:
                policies.append(_experience(here, entry, counts))
            except (InvalidNameError, UnicodeDecodeError) as error:
                skipped[entry.name.encode("utf-8", "replace").decode()] = str(error)
    return ExperienceSet(
        root_uri=root,
        policies=tuple(sorted(policies, key=lambda p: p.name)),
        snapshot_id=commit,
        metadata={"skipped": skipped} if skipped else {},
    )


def _experience(loc: Location, entry: Entry, counts: Mapping[str, int] | None) -> Experience:
    name = entry.name.removesuffix(SUFFIX)
    if check_name(name) != name:
        raise InvalidNameError(f"{entry.name!r} is not NFC", hint="git mv it to the NFC form of its name")
    text = loc.repo.blob(entry.id).decode()
    return Experience(name=name, text=text, version=None if counts is None else counts.get(entry.name, 0))


def _versions(loc: Location, commit: str, root: str) -> Counter[str]:
    """Count per file name the first-parent commits that changed it, deletions included."""
    out = gitcli.run(
        loc.repo.place,
        [
            *("log", "-z", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--no-ext-diff"),
            *("--format=", "--name-only", commit, "--", root),
        ],
    )
    return Counter(path.removeprefix(f"{root}/") for path in gitcli.records(out))
