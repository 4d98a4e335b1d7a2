"""Bring a candidate up to date: its commits again on top of where main is now, or one merge of them into it.

Nothing is written here; the commits are built in memory. A file that main still has as the commit found it
takes the commit's version, one that main has already as the commit left it is left out, and any other page
is merged by statement (merge.py). What cannot be merged without a doubt stops all of it.

Author, message and Plan-Id stay. A plan of which every file was taken as it is keeps its Plan-Digest too; one
that was merged, or landed in part, has a second record (second_record.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TYPE_CHECKING

from xpstore import (
    candidate,
    events,
    gitcli,
    history,
    layout,
    moved,
    objects,
    second_record,
    signatures,
    trees,
)
from xpstore.errors import Conflict, ConflictError, RefusedError
from xpstore.merged_page import MergedPage
from xpstore.resolver import how_decided
from xpstore.second_record import NOTHING, Step
from xpstore.snapshot import NO_FILE, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xpstore.candidate import How, Request
    from xpstore.evidence import EvidenceFile
    from xpstore.location import Location
    from xpstore.merge import MergeResult
    from xpstore.objects import GitObject, Sign, Tree

_FILES = {"000000", "100644", "100755"}


@dataclass(frozen=True, slots=True)
class Built:
    """What main would move to, and all of it that is not in the repository yet."""

    tip: str
    """Where main is already, if there is nothing left to land."""
    how: How
    objects: tuple[GitObject, ...] = ()
    records: tuple[EvidenceFile, ...] = ()
    """The second records of plans that were merged."""
    commits: tuple[str, ...] = ()
    """The new commits, oldest first."""
    merges: tuple[MergedPage, ...] = ()
    """How the pages were merged of which both sides had another version."""
    left_out: tuple[str, ...] = ()
    """The commits of the branch of which nothing is left to land: main has it, or it was decided away."""


@dataclass(frozen=True, slots=True)
class _File:
    """One file that a commit changed, below the folder of experiences."""

    path: str
    base: str
    result: str

    @property
    def page(self) -> str:
        """The name of the experience; "" for a file that is none."""
        return self.path.removesuffix(SUFFIX) if self.path.endswith(SUFFIX) and "/" not in self.path else ""


def build(loc: Location, request: Request, old: str, *, is_trial: bool = False) -> Built:
    """Build what main, now at the commit `old`, would move to. A trial is not for landing, and not signed.

    Raises ConflictError where page and branch cannot be merged without a doubt (it names the commit), and
    RefusedError for unrelated histories, files outside of the experiences, and a branch with merges in it.
    """
    new = request.tip
    if loc.repo.is_ancestor(new, old):
        return Built(old, "fast-forward")
    is_ahead = loc.repo.is_ancestor(old, new)
    if is_ahead and not request.is_merge:
        return Built(new, "fast-forward")
    events.need_whole_history(loc)
    base = old if is_ahead else _fork(loc, request, old)
    known = {i for e in history.log(loc, f"{base}..{old}") for i in e.plan_ids}
    names = {} if base == old else moved.moved(loc, base, old)
    chain = _Chain(loc, request, old, None if is_trial else signatures.signer(loc), moved=names)
    return _merge(chain, base, known) if request.is_merge else _stack(chain, known)


def _fork(loc: Location, request: Request, old: str) -> str:
    """Return the newest commit that both have. Raises RefusedError where there is none."""
    found = gitcli.attempt(loc.repo.place, ["merge-base", old, request.tip]).out.decode().split()
    if found:
        return found[0]
    lost = sorted(candidate.pages_at(loc, old).keys() - candidate.pages_at(loc, request.tip).keys())
    raise RefusedError(
        f"{request.branch} has no history in common with {request.main}"
        + (f"; it would lose {len(lost)} pages: {candidate.shown(lost)}" if lost else ""),
        hint=f"a candidate starts from {request.main}; make a new branch of it and commit the pages there",
    )


def _stack(chain: _Chain, known: set[str]) -> Built:
    loc, request, old = chain.loc, chain.request, chain.old
    span = [f"{old}..{request.tip}"]
    if gitcli.run(loc.repo.place, ["rev-list", "--min-parents=2", "--max-count=1", *span]):
        raise RefusedError(
            f"{request.branch} has merges in it, and {request.main} has moved since it began",
            hint=f"land it with --merge, or make it a straight line: `{candidate.rebase_command(request)}`",
        )
    commits = gitcli.run(loc.repo.place, ["rev-list", "--reverse", *span]).decode().split()
    for commit, files in _changes(loc, request, commits):
        named = {stamp.plan_id for stamp in events.stamps(loc.repo.commit(commit).message, loc.config.id)}
        if (named and named <= known) or not chain.add(commit, files):
            chain.left_out.append(commit)
    return chain.built("re-parented")


def _merge(chain: _Chain, base: str, known: set[str]) -> Built:
    loc, request, old = chain.loc, chain.request, chain.old
    twice = known & {i for e in history.log(loc, f"{old}..{request.tip}") for i in e.plan_ids}
    if twice:
        raise RefusedError(
            f"{request.main} has plan {min(twice)[:12]} of {request.branch} already",
            hint="land it without --merge: what is there is left out then",
        )
    ends = (base, request.tip)
    chain.add_merge([file for _, files in _changes(loc, request, ends, span=True) for file in files])
    return chain.built("merge")


def _changes(
    loc: Location, request: Request, commits: Sequence[str], *, span: bool = False
) -> Iterator[tuple[str, list[_File]]]:
    """Yield each commit with the files that it changed; with `span`, the last one with those since the first.

    Raises RefusedError where one of them is outside of the folder of experiences, or is no ordinary file.
    """
    flags = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-commit-id"]
    flags.append("--ignore-submodules=none")
    for commit in commits[1:] if span else commits:
        ends = [commits[0], commit] if span else [commit]
        tokens = gitcli.records(gitcli.run(loc.repo.place, [*flags, *ends]))
        folder = loc.at(commit).in_tree(layout.EXPERIENCES)
        rows = list(zip(tokens[::2], tokens[1::2], strict=True))
        candidate.check_outside(request.branch, folder, [path for _, path in rows])
        yield commit, [_file(request, row, path.removeprefix(f"{folder}/")) for row, path in rows]


def _file(request: Request, row: str, path: str) -> _File:
    old_mode, new_mode, base, result, _ = row.lstrip(":").split(" ")
    if not {old_mode, new_mode} <= _FILES:
        where = f"{request.branch}: {path.encode('utf-8', 'replace').decode()}"
        raise RefusedError(f"{where}: {NO_FILE}", hint="take it out of the branch")
    return _File(path, base, result)


@dataclass
class _Chain:
    """Commits stacked on main, none of them in the repository yet."""

    loc: Location
    request: Request
    old: str
    sign: Sign | None
    objects: list[GitObject] = field(default_factory=list)
    records: list[EvidenceFile] = field(default_factory=list)
    commits: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    merges: list[MergedPage] = field(default_factory=list)
    moved: Mapping[str, str] = field(default_factory=dict)
    """Pages that main has renamed since the branch began: the name then → the name now."""
    _trees: dict[str, Tree] = field(default_factory=dict)
    _blobs: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tip, self._root = self.old, self.loc.repo.commit(self.old).tree
        self._folder = self.loc.at(self.old).in_tree(layout.EXPERIENCES)
        self._who = self.loc.repo.person()

    def built(self, how: How) -> Built:
        """Return all that was stacked."""
        return Built(
            self.tip,
            how,
            objects=tuple(self.objects),
            records=tuple(self.records),
            commits=tuple(self.commits),
            merges=tuple(self.merges),
            left_out=tuple(self.left_out),
        )

    def add(self, commit_id: str, files: Sequence[_File]) -> bool:
        """Stack a commit; return False where nothing is left of it. Raises ConflictError."""
        commit = self.loc.repo.commit(commit_id)
        before = len(self.merges)
        steps = self._apply(files, f"{commit_id[:9]} {commit.message.partition(chr(10))[0]}")
        if not steps:
            return False
        message = commit.message
        found = {file.page or file.path: Step(file.base, file.result) for file in files}
        if steps != found:
            merges = self.merges[before:]
            message, records = second_record.of(
                self.loc, message, found, steps, merges=merges, moved=self.moved
            )
            self.records += records
        made = objects.make_commit(self._root, [self.tip], commit.author, self._who, message, sign=self.sign)
        self._stacked(made)
        return True

    def add_merge(self, files: Sequence[_File]) -> None:
        """Merge the branch, which has changed these files, as one commit. Raises ConflictError."""
        branch, main = self.request.branch, self.request.main
        self._apply(files, f"merging {branch}")
        into = "" if main in {"main", "master"} else f" into {main}"  # as git says it
        message = f"Merge branch '{branch}'{into}\n"
        if self.merges:
            message += "\n" + "".join(f"{_line(page)}\n" for page in self.merges)
        self._stacked(
            objects.make_commit(
                self._root,
                [self.tip, self.request.tip],
                self._who,
                self._who,
                message,
                sign=self.sign,
            )
        )

    def _stacked(self, made: GitObject) -> None:
        self.objects.append(made)
        self.commits.append(made.id)
        self.tip = made.id

    def _followed(self, file: _File) -> _File:
        """Return a file under the name that main has given its page meanwhile."""
        name = self.moved.get(file.page)
        if name is None or file.base == NOTHING:
            return file
        there = trees.find(self._read_tree, self._root, f"{self._folder}/{file.path}")
        return file if there else replace(file, path=f"{name}{SUFFIX}")

    def _apply(self, files: Sequence[_File], by: str) -> dict[str, Step]:
        """Change the tree as a commit changed its own, and return what that did to which file."""
        steps: dict[str, Step] = {}
        changes: dict[str, bytes | None] = {}
        conflicts: list[tuple[Conflict, MergeResult | None]] = []
        for file in map(self._followed, files):
            entry = trees.find(self._read_tree, self._root, f"{self._folder}/{file.path}")
            at_tip = entry.id if entry else NOTHING
            if at_tip == file.result:
                continue
            data = self._bytes(file.result)
            if at_tip != file.base:
                data = self._merged(file, at_tip, conflicts)
                if data == self._bytes(at_tip):
                    continue  # what the commit says is there already, or it is in conflict
            changes[f"{self._folder}/{file.path}"] = data
            blob = objects.make("blob", data).id if data is not None else NOTHING
            steps[file.page or file.path] = Step(at_tip, blob)
        if conflicts:
            raise self._conflict(conflicts, by)
        spliced = trees.splice(self._read_tree, self._root, changes)
        self._trees.update((item.id, item.tree) for item in spliced.objects if item.tree is not None)
        self._blobs.update((item.id, item.data) for item in spliced.objects if item.kind == "blob")
        self.objects += spliced.objects
        self._root = spliced.tree
        return steps

    def _merged(
        self, file: _File, at_tip: str, conflicts: list[tuple[Conflict, MergeResult | None]]
    ) -> bytes | None:
        """Merge a page that both sides changed; what cannot be merged goes to `conflicts`."""
        try:
            base, ours, theirs = (self._text(blob) for blob in (file.base, at_tip, file.result))
        except UnicodeDecodeError:
            conflicts.append((Conflict(file.path, None, None, None), None))
            return None
        result = self.request.merge_page(base, ours, theirs, file.path) if file.page else None
        if result is None or result.verdict == "REFUSED":
            conflicts.append((Conflict(file.page or file.path, base, ours, theirs), result))
            return None
        page = MergedPage.of(file.page, (file.base, at_tip, file.result), result, theirs)
        if page.result != at_tip or page.resolved_by:
            self.merges.append(page)
        return None if result.text is None else result.text.encode()

    def _text(self, blob: str) -> str | None:
        data = self._bytes(blob)
        return None if data is None else data.decode()

    def _conflict(self, conflicts: Sequence[tuple[Conflict, MergeResult | None]], by: str) -> ConflictError:
        names = "; ".join(_where(conflict, result) for conflict, result in conflicts)
        by = by.encode("utf-8", "replace").decode()
        return ConflictError(
            f"{self.request.main} and {self.request.branch} changed the same in ways that exclude each other:"
            f" {names} ({by})",
            tuple(conflict for conflict, _ in conflicts),
            kept=(self.request.branch,),
            hint=f"decide with `xp resolve {quote(self.request.branch)}` (--take ours|theirs chooses), or by"
            f" hand: `{candidate.rebase_command(self.request)}`; nothing was moved",
        )

    def _read_tree(self, tree_id: str) -> Tree:
        known = self._trees.get(tree_id)
        return self.loc.repo.read_tree(tree_id) if known is None else known

    def _bytes(self, blob: str) -> bytes | None:
        if blob == NOTHING:
            return None
        known = self._blobs.get(blob)
        return self.loc.repo.blob(blob) if known is None else known


def _line(page: MergedPage) -> str:
    return f"{page.name}: merged by statement ({page.verdict}{how_decided(page.resolved_by)})"


def _where(conflict: Conflict, result: MergeResult | None) -> str:
    """Name a page, and the sections of it or the side that deleted it."""
    name = conflict.name.encode("utf-8", "replace").decode()
    if None in {conflict.ours, conflict.theirs} and result:
        return f"{name} (deleted on one side)"
    sections = dict.fromkeys(overlap.section for overlap in result.overlaps) if result else {}
    quoted = ", ".join(section for section in sections if section.isprintable() and section)
    return f"{name} ({quoted})" if quoted else name
