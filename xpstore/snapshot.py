"""ExperienceSet of a branch or commit: the policy as it stood there."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from xpstore import gitcli, layout
from xpstore.errors import InvalidNameError, LimitError
from xpstore.experience import Experience, ExperienceSet
from xpstore.guards import check_size
from xpstore.names import check_name

if TYPE_CHECKING:
    from pydantic import JsonValue

    from xpstore.location import Location

SUFFIX = ".md"
NO_FILE = "it is a symbolic link or a submodule, and neither is followed"


def snapshot(loc: Location, ref: str, *, versions: bool = False) -> ExperienceSet:
    """Return the experiences at a branch, tag or commit, sorted by name; none where the folder is missing.

    With `versions` each knows how many first-parent commits changed its file. Files that cannot be an
    experience (an invalid name, a link, no UTF-8, over a limit of xp.toml) are left out and named with the
    reason in metadata["skipped"]. Raises NotFoundError for an unknown ref.
    """
    commit = loc.resolve(ref)
    here = loc.at(commit)
    root = here.in_tree(layout.EXPERIENCES)
    counts = _versions(here, commit, root) if versions else None
    names, skipped = _names(here, commit)
    policies: list[Experience] = []
    for name, blob in names.items():
        version = None if counts is None else counts.get(f"{name}{SUFFIX}", 0)
        data = here.repo.blob(blob)
        try:
            check_size(data, name, here.config.limits)
            policies.append(Experience(name=name, text=data.decode(), version=version))
        except (LimitError, UnicodeDecodeError) as error:
            skipped[f"{name}{SUFFIX}"] = str(error)
    return ExperienceSet(
        root_uri=root,
        policies=tuple(policies),
        snapshot_id=commit,
        metadata={"skipped": skipped} if skipped else {},
    )


def listing(loc: Location, ref: str) -> dict[str, str]:
    """Return name → blob id of the experiences at a branch, tag or commit, sorted; reads no contents.

    Raises NotFoundError for an unknown ref.
    """
    commit = loc.resolve(ref)
    return _names(loc.at(commit), commit)[0]


def _names(here: Location, commit: str) -> tuple[dict[str, str], dict[str, JsonValue]]:
    """Return the valid names with their blob ids, sorted, and the invalid file names with the reason."""
    names: dict[str, str] = {}
    skipped: dict[str, JsonValue] = {}
    tree, root = here.repo.commit(commit).tree, here.in_tree(layout.EXPERIENCES)
    folder = here.repo.folder(tree, root)
    files = folder.files()
    if len(files) < len(folder):
        others = [e.name for e in folder if not (e.is_file or e.is_tree)]
        skipped |= {o.encode("utf-8", "replace").decode(): NO_FILE for o in others if o.endswith(SUFFIX)}
    elif not files and here.repo.entry(tree, root):
        skipped[layout.EXPERIENCES] = NO_FILE
    for file, blob in files.items():
        if file.endswith(SUFFIX):
            name = file.removesuffix(SUFFIX)
            try:
                nfc = check_name(name)
            except InvalidNameError as error:
                skipped[file.encode("utf-8", "replace").decode()] = str(error)
                continue
            if nfc == name:
                names[name] = blob
            else:
                hint = "git mv it to the NFC form of its name"
                skipped[file] = f"{file!r} is not NFC; {hint}"
    return dict(sorted(names.items())), skipped


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
