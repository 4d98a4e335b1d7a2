"""ExperienceSet of a branch or commit: the policy as it stood there."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from xpstore import gitcli, layout
from xpstore.collecting import put_off
from xpstore.errors import DocumentError, InvalidNameError, LimitError
from xpstore.experience import Experience, ExperienceSet, experience_uri
from xpstore.guards import check_size
from xpstore.names import all_plain, check_name
from xpstore.pages import Pages

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import JsonValue

    from xpstore.location import Location

SUFFIX = ".md"
NO_FILE = "it is a symbolic link or a submodule, and neither is followed"


def snapshot(loc: Location, ref: str, *, versions: bool = False, parsed: bool = False) -> ExperienceSet:
    """Return the experiences at a branch, tag or commit, sorted by name; none where the folder is missing.

    With `versions` each knows how many first-parent commits changed its file. With `parsed` their front
    matter is read at once, and left for the next process. Files that cannot be an experience (an invalid
    name, a link, no UTF-8, over a limit of xp.toml) are left out and named with the reason in
    metadata["skipped"]. Raises NotFoundError for an unknown ref.
    """
    with put_off():
        return _snapshot(loc, ref, versions=versions, parsed=parsed)


def _snapshot(loc: Location, ref: str, *, versions: bool, parsed: bool) -> ExperienceSet:
    commit = loc.resolve(ref)
    here = loc.at(commit)
    root = here.in_tree(layout.EXPERIENCES)
    counts = _versions(here, commit, root) if versions else None
    blobs, skipped = names(here, commit)
    pages = Pages.load(here.repo, here.config)
    read = _reader(here)
    for name in [name for name, blob in blobs.items() if blob not in pages.texts]:
        try:
            pages.add(blobs[name], read(name, blobs[name]))
        except (LimitError, UnicodeDecodeError) as error:
            skipped[f"{name}{SUFFIX}"] = str(error)
            del blobs[name]
    if counts is None and not parsed:
        policies = [Experience.read(name, pages.texts[blob]) for name, blob in blobs.items()]
    else:
        made = partial(_experience, pages, counts, parsed=parsed)
        policies = [made(name, blob) for name, blob in blobs.items()]
    pages.keep(blobs.values())
    return ExperienceSet(
        root_uri=root,
        policies=tuple(policies),
        snapshot_id=commit,
        metadata={"skipped": skipped} if skipped else {},
    )


def page(here: Location, name: str, blob: str) -> Experience | str:
    """Return one experience, or why its file can be none: too long, or no UTF-8."""
    try:
        return Experience(name=name, text=_reader(here)(name, blob))
    except (LimitError, UnicodeDecodeError) as error:
        return str(error)


def _reader(here: Location) -> Callable[[str, str], str]:
    """Return what gives the text of a name and blob. It raises LimitError and UnicodeDecodeError."""
    limits, blob_data = here.config.limits, here.repo.blob
    most_bytes, most_lines = limits.file_bytes, limits.file_lines

    def text(name: str, blob: str) -> str:
        data = blob_data(blob)
        if len(data) > most_bytes or data.count(b"\n") >= most_lines:
            check_size(data, name, limits)
        return data.decode()

    return text


def _experience(
    pages: Pages, counts: Counter[str] | None, name: str, blob: str, *, parsed: bool
) -> Experience:
    version = None if counts is None else counts.get(f"{name}{SUFFIX}", 0)
    if parsed:
        with suppress(DocumentError):  # whoever asks for what it says is told
            return Experience.parsed(name, pages.document(blob, experience_uri(name)), version)
    return Experience.read(name, pages.texts[blob], version)


def listing(loc: Location, ref: str) -> dict[str, str]:
    """Return name → blob id of the experiences at a branch, tag or commit, sorted; reads no contents.

    Raises NotFoundError for an unknown ref.
    """
    commit = loc.resolve(ref)
    with put_off():
        return names(loc.at(commit), commit)[0]


def names(here: Location, commit: str) -> tuple[dict[str, str], dict[str, JsonValue]]:
    """Return name → blob id of the experiences at a commit where the store lies `here`, sorted.

    And the names of files that can be no experience, with the reason.
    """
    skipped: dict[str, JsonValue] = {}
    tree, root = here.repo.commit(commit).tree, here.in_tree(layout.EXPERIENCES)
    folder = here.repo.folder(tree, root)
    files = folder.files()
    if len(files) < len(folder):
        others = [e.name for e in folder if not (e.is_file or e.is_tree)]
        skipped |= {o.encode("utf-8", "replace").decode(): NO_FILE for o in others if o.endswith(SUFFIX)}
    elif not files and here.repo.entry(tree, root):
        skipped[layout.EXPERIENCES] = NO_FILE
    found = {file[: -len(SUFFIX)]: blob for file, blob in files.items() if file.endswith(SUFFIX)}
    if not all_plain(found):
        for name in list(found):
            if problem := _problem(name):
                skipped[f"{name}{SUFFIX}".encode("utf-8", "replace").decode()] = problem
                del found[name]
    return dict(sorted(found.items())), skipped


def _problem(name: str) -> str:
    """Return why a file's name is not that of an experience; "" where it is."""
    try:
        nfc = check_name(name)
    except InvalidNameError as error:
        return str(error)
    hint = "git mv it to the NFC form of its name"
    return "" if nfc == name else f"{f'{name}{SUFFIX}'!r} is not NFC; {hint}"


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
