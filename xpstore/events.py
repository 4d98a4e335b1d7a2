"""History as a list of events: plan commits and people's commits, read with the git program.

What counts is first-parent history. A merge (a hosting site's button) is one event that brings the events
of its side; a squash is one event with several plans. Code commits may have moved the store's folder:
history goes on under its earlier names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from xpstore import gitcli, layout
from xpstore.errors import NotFoundError, RepositoryError, UsageError
from xpstore.failures import SHALLOW
from xpstore.trailers import parse_trailers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xpstore.location import Location

ChangeKind = Literal["A", "M", "D", "R"]
KINDS: dict[str, ChangeKind] = {"A": "A", "M": "M", "D": "D", "R": "R", "T": "M"}
SUFFIX = ".md"
PERSON = "person"
"""The learner of plans that people make: reverts and status changes."""
DIFFS = ("--diff-merges=first-parent", "--root", "--no-relative", "--no-ext-diff", "--no-textconv")
_FIELDS = "%H%x00%P%x00%an%x00%ae%x00%at%x00%B"
_NOTHING = "0" * 40
_STAMP_LINE = re.compile(
    r"^(Plan-Id|Plan-Digest|Base-Commit|Store|Run-Id|Learner|Rollouts|Reverts-Plan|Resolved-By|Suspect)"
    r"[ \t]*:[ \t]*(.*?)[ \t]*\r?$",
    re.MULTILINE,
)


# what `git merge --squash` proposes: the messages of the squashed commits, indented
_SQUASHED = re.compile(r"^Squashed commit of the following:", re.MULTILINE)
_INDENT = re.compile(r"^    ", re.MULTILINE)
PLAN_GREP = "--grep=^\\(    \\)\\?Plan-Id[ \t]*:"
"""Finds the commits that `stamps` reads."""
_DIGEST_GREP = PLAN_GREP.replace("Plan-Id", "Plan-Digest")


@dataclass(frozen=True, slots=True)
class Stamp:
    """The trailers of one plan; a squashed commit's message holds those of several."""

    plan_id: str
    fields: Mapping[str, tuple[str, ...]]

    def get(self, key: str) -> str:
        """Return the first value of a trailer; "" where it is missing."""
        return self.fields.get(key, ("",))[0]

    @property
    def learner(self) -> str:
        """Who taught it, without a version: `offline` of `offline/1`."""
        return learner_name(self.get("Learner"))


@dataclass(frozen=True, slots=True)
class Change:
    """One experience that a commit changed. Blob ids; "" where there is no file."""

    kind: ChangeKind
    name: str
    old_name: str
    """The name before; another one for a rename."""
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One commit that changed experiences."""

    commit: str
    parents: tuple[str, ...]
    author: str
    email: str
    time: int
    """When it was written: seconds since 1970."""
    message: str
    changes: tuple[Change, ...]
    stamps: tuple[Stamp, ...]
    """The plans in it, each with its trailers; none = a person's commit."""
    merged: tuple[Entry, ...] = ()
    """What a merge brought from its side, oldest first."""

    @property
    def plan_ids(self) -> tuple[str, ...]:
        """The plans in it, those of a merged side included."""
        own = [s.plan_id for s in self.stamps]
        return tuple(dict.fromkeys([*own, *(i for e in self.merged for i in e.plan_ids)]))

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0].strip()

    @property
    def body(self) -> str:
        """The message without subject and trailers."""
        rest = self.message.partition("\n")[2].strip("\n")
        if not self.trailers:
            return rest.rstrip()
        head, gap, _ = rest.rstrip().rpartition("\n\n")
        return head.rstrip() if gap else ""

    @property
    def trailers(self) -> dict[str, tuple[str, ...]]:
        """The trailers of the last paragraph."""
        return parse_trailers(self.message)

    @property
    def names(self) -> tuple[str, ...]:
        """The experiences it changed, sorted."""
        return tuple(sorted({c.name for c in self.changes}))


def learner_name(learner: str) -> str:
    """Return a learner without its version: `offline` of `offline/1`."""
    return learner.partition("/")[0]


def stamps(message: str, store_id: str) -> tuple[Stamp, ...]:
    """Return the plans of this store that a commit message names, with their trailers, each once.

    A plan that names no store is taken for one of this store.
    """
    found = claims(message)
    return tuple(s for s in found if s.plan_id and store_id in s.fields.get("Store", (store_id,)))


def claims(message: str) -> tuple[Stamp, ...]:
    """Return all that a commit message says of plans, of whatever store: what `stamps` chooses from.

    Trailers that stand below no `Plan-Id`, or below one that cannot be an id, are a stamp without plan id.
    """
    if _SQUASHED.search(message) and not _STAMP_LINE.search(message):
        message = _INDENT.sub("", message)
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    block = found.setdefault("", {})
    for key, value in _STAMP_LINE.findall(message.partition("\n")[2]):
        if key == "Plan-Id":
            block = found.setdefault(value if re.fullmatch("[0-9a-f]+", value) else "", {})
        block[key] = (*block.get(key, ()), value)
    return tuple(Stamp(plan_id, fields) for plan_id, fields in found.items() if fields)


def commit_of(loc: Location, ref: str) -> str:
    """Return the commit of a branch (first), tag, id or expression. Raises NotFoundError."""
    return branch_tip(loc, ref) or loc.resolve(ref)


def need_whole_history(loc: Location) -> None:
    """Raise RepositoryError in a shallow clone, for whoever needs to know what was learned and undone.

    Where history was cut off, a commit looks as if it had written everything.
    """
    if loc.repo.is_shallow:
        raise RepositoryError(f"{loc.repo.place} is a shallow clone", hint=SHALLOW)


def branch_tip(loc: Location, name: str) -> str | None:
    """Return the commit of a branch by its short or full name; None where there is none of this name."""
    full = name if name.startswith("refs/") else f"{layout.HEADS}{name}"
    try:
        loc.repo.check_ref(full)
    except UsageError:  # an expression such as main~1
        return None
    return loc.repo.ref(full)


def revisions(loc: Location, spec: str) -> list[str]:
    """Return `a`, `a..b` or `a...b` as arguments for git, all commits named by id. Raises NotFoundError."""
    if ".." not in spec:
        return [commit_of(loc, spec)]
    dots = "..." if "..." in spec else ".."
    left, _, right = spec.partition(dots)
    start, end = (commit_of(loc, side or "HEAD") for side in (left, right))
    return [f"{start}{dots}{end}"]


def tip_of(revision: str) -> str:
    """Return the newer end of an argument that `revisions` returned."""
    return re.split(r"\.{2,3}", revision)[-1]


def folders(loc: Location, tip: str) -> list[str]:
    """Return the paths that the experiences had in the history of `tip`, newest first."""
    found: list[str] = []
    at = loc.at(tip)
    while at.in_tree(layout.EXPERIENCES) not in found:
        found.append(at.in_tree(layout.EXPERIENCES))
        out = gitcli.run(
            loc.repo.place,
            [
                *("log", "-1", "-z", "--first-parent", "--no-renames", "--diff-filter=A", "--format=%P"),
                *(*DIFFS, "--no-patch", tip, "--", at.in_tree(layout.CONFIG)),
            ],
        )
        tip = out.decode().strip("\0\n").partition(" ")[0]
        if not tip or not loc.repo.has(tip):
            break
        at = at.at(tip)
    return found


def read(
    loc: Location,
    spec: str,
    *,
    options: Sequence[str] = ("--first-parent",),
    only: Sequence[str] = (),
) -> Iterator[Entry]:
    """Yield the commits of a ref or range that changed experiences, `only` some or any, newest first.

    Commits that only moved the store's folder are left out. Merges come without their side (`with_side`).
    """
    args = revisions(loc, spec)
    paths = folders(loc, tip_of(args[0]))
    wanted = [f"{folder}/{name}{SUFFIX}" for folder in paths for name in only]
    chosen = ["--full-diff", *args, "--", *wanted] if wanted else [*args, "--", *paths]
    for commit in _raw(loc, ["-M", *options, *chosen]):
        changes = tuple(c for file in commit.files for c in _changes(file, paths))
        if changes:
            yield replace(commit.entry, changes=changes)


def with_side(loc: Location, entry: Entry) -> Entry:
    """Return a merge with the events that it brought from its side; any other entry as it is."""
    if len(entry.parents) < 2:
        return entry
    options = ("--no-merges", "--topo-order", "--full-history")
    side = list(read(loc, f"{entry.parents[0]}..{entry.commit}", options=options))
    return replace(entry, merged=tuple(reversed(side)))


def entry_of(loc: Location, commit: str) -> Entry:
    """Return one commit as an entry, a merge with its side. Raises NotFoundError where it changed nothing."""
    options = ("--first-parent", "--max-count=1")
    found = next(read(loc, commit, options=options), None)
    if found is None or found.commit != commit:
        raise NotFoundError(f"commit {commit} changes no experience of this store", hint="xp log lists them")
    return with_side(loc, found)


def any_entry(loc: Location, commit: str) -> Entry:
    """Return any commit as an entry, also one that changed no experience."""
    raw = next(_raw(loc, ["-M", "--first-parent", "--max-count=1", commit, "--"]))
    paths = folders(loc, commit)
    return replace(raw.entry, changes=tuple(c for file in raw.files for c in _changes(file, paths)))


@dataclass(frozen=True, slots=True)
class FileChange:
    """One line of git's raw diff; paths from the root of the repository."""

    status: str
    old_mode: str
    new_mode: str
    before: str
    """Blob id; "" where there is no file."""
    after: str
    paths: tuple[str, ...]
    """One path, or the old and the new one of a rename."""


@dataclass(frozen=True, slots=True)
class RawCommit:
    """A commit with its whole diff against its first parent."""

    entry: Entry
    """Without changes."""
    files: tuple[FileChange, ...]


def plan_commits(loc: Location, tip: str) -> Iterator[RawCommit]:
    """Yield every commit in the history of `tip` that names plans of any store, newest first.

    Those that have only the digest of a plan are among them.
    """
    yield from _raw(loc, ["--no-renames", PLAN_GREP, _DIGEST_GREP, tip, "--"])


def _raw(loc: Location, args: Sequence[str]) -> Iterator[RawCommit]:
    fixed = ("log", "-z", "--raw", "--no-abbrev", "--encoding=UTF-8", f"--format={_FIELDS}", *DIFFS)
    tokens = gitcli.run(loc.repo.place, [*fixed, *args]).decode("utf-8", "surrogateescape").split("\0")
    at = 0
    while at + 5 < len(tokens):
        commit, parents, author, email, time, message = tokens[at : at + 6]
        at += 6
        files: list[FileChange] = []
        while at < len(tokens) and tokens[at].lstrip("\n").startswith(":"):
            old_mode, new_mode, before, after, status = tokens[at].lstrip("\n:").split(" ")
            width = 2 if status[0] in "RC" else 1
            blobs = ["" if blob == _NOTHING else blob for blob in (before, after)]
            paths = tuple(tokens[at + 1 : at + 1 + width])
            files.append(FileChange(status[0], old_mode, new_mode, blobs[0], blobs[1], paths))
            at += 1 + width
        stamps_ = stamps(message, loc.config.id)
        entry = Entry(
            commit.lstrip("\n"), tuple(parents.split()), author, email, int(time), message, (), stamps_
        )
        yield RawCommit(entry, tuple(files))


def _changes(file: FileChange, folders_: Sequence[str]) -> Iterator[Change]:
    old, new = experience_of(file.paths[0], folders_), experience_of(file.paths[-1], folders_)
    if old and new:
        if file.status == "R" and old == new:  # the store moved, the experience did not
            if file.before != file.after:
                yield Change("M", new, new, file.before, file.after)
        else:
            yield Change(KINDS.get(file.status, "M"), new, old, file.before, file.after)
    elif new:
        yield Change("A", new, new, "", file.after)
    elif old:
        yield Change("D", old, old, file.before, "")


def experience_of(path: str, folders_: Sequence[str]) -> str:
    """Return the experience that a path is the file of; "" for any other file."""
    for folder in folders_:
        below = path.removeprefix(f"{folder}/")
        if below != path and below.endswith(SUFFIX) and "/" not in below:
            return below.removesuffix(SUFFIX)
    return ""
