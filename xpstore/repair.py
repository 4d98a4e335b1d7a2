"""Mend a repository after a loss of power: detect, explain, restore what can be restored, discard nothing.

objects   broken ones move aside, and are written again from where their bytes are still at hand (refill.py)
HEAD      goes back to the branch that was checked out last
refs      one that is empty, garbage, gone or at a lost commit goes back to the newest whole commit that its
          reflog has, then packed-refs, then what a remote had; one whose files alone are lost stays, and
          they are named; a commit that it had to leave is kept below `refs/xpstore/lost/`
plans     that were on such a branch and are on record in the evidence are applied again
reflogs   lose the entries that lead to lost commits, an index that cannot be read is made of HEAD
tips      to which nothing leads any more are named where the refs are gone and nothing tells what they were

Everything that is replaced is kept in `<git directory>/xpstore.lost/<number>/`, under its own path, until
something is forgotten for good (purge.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from xpstore import (
    git_folder,
    gitcli,
    layout,
    lock,
    lost_plans,
    maintain,
    ref_sources,
    refill,
    salvage,
    worktree,
)
from xpstore.errors import NotAStoreError, RepositoryError, XpError
from xpstore.failures import failure
from xpstore.git import Repo
from xpstore.location import Location
from xpstore.salvage import Attic, Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JUDGED = (layout.HEADS, layout.REMOTES, "refs/notes/")
"""Refs whose files have to be there; others (tags) may name anything."""
KEPT = "refs/xpstore/lost/"
"""Where commits stay that a ref was taken off, as not all of their folders are there."""
_HEAD_BROKEN = "it names neither a branch nor a commit"
_HEAD_LOST = "its commit is missing"
_ID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was found and what became of it."""

    faults: tuple[Fault, ...]
    missing: tuple[str, ...]
    """Objects (kind and id) that something still leads to and that nobody here has."""
    kept_in: str
    """Where everything is that was replaced; "" where nothing was."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left to mend."""
        return not self.missing and all(fault.done for fault in self.faults)


def repair(path: Path, *, dry_run: bool = False) -> Repaired:
    """Mend the repository that `path` is in; a dry run only says what is broken.

    Raises NotAStoreError where there is no repository, RepositoryError where git or the disk says no.
    """
    try:
        return _repaired(path, dry_run=dry_run)
    except OSError as error:
        raise failure("mend the repository", path, error) from error


def _repaired(path: Path, *, dry_run: bool) -> Repaired:
    opened: list[Fault] = []
    if git_dir := git_folder.unopened(path):
        if dry_run:
            return Repaired(tuple(git_folder.faults(git_dir)), (), "")
        opened = git_folder.open_again(git_dir)
    repo = Repo.discover(path)
    if repo is None:
        raise NotAStoreError(f"{path} is in no git repository", hint="-C DIR looks elsewhere")
    with maintain.alone(repo, wait=True), lock.store_lock(repo.common_dir):
        work = _Repair(path, repo, Attic(repo.common_dir), opened)
        if dry_run:
            work.look()
        else:
            work.mend()
        kept = work.attic.folder
        missing = tuple(f"{kind} {object_id}" for object_id, kind in sorted(work.missing.items()))
        return Repaired(tuple(work.faults), missing, str(kept) if kept else "")


@dataclass
class _Repair:
    path: Path
    repo: Repo
    attic: Attic
    faults: list[Fault] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    moved: list[tuple[str, int]] = field(default_factory=list)
    """The refs that were put back, and since when (Unix time) each was where it is now."""

    whole: dict[str, bool] = field(default_factory=dict)
    """Commit → whether it and all its files are there, as far as was asked."""

    def look(self) -> None:
        """Find what is broken."""
        if self._is_head_broken():
            self.faults.append(Fault("HEAD", _HEAD_BROKEN))
            return  # without it git takes the directory for no repository
        self.faults += [fault for _, fault in salvage.loose_faults(self.repo)]
        self.faults += [fault for _, fault in salvage.pack_faults(self.repo)]
        self.faults += [Fault(str(index), "it cannot be read") for _, index in self._broken_indexes()]
        lines = ref_sources.lines_of(self.repo.common_dir / "packed-refs")
        if ref_sources.readable(lines) != lines:
            self.faults.append(Fault("packed-refs", "lines of it are garbage"))
            return  # the refs cannot be listed before that is mended
        for ref in ref_sources.ref_names(self.repo):
            if problem := self._problem(ref):
                self.faults.append(Fault(ref, problem))
        if self._is_head_lost():
            self.faults.append(Fault("HEAD", _HEAD_LOST))
        self.faults += self._left_tips()
        if not self.faults:  # git stops at the first of those
            self.missing = refill.lost(self.repo)

    def mend(self) -> None:
        """Find what is broken and mend it."""
        if self._is_head_broken():
            self._head(_HEAD_BROKEN)
        self._packed_refs()
        objects = self._objects()
        indexes = list(self._broken_indexes())
        for _, index in indexes:
            self.attic.take(index)
        self._refill(objects)
        if self._is_head_lost():
            self._detached_head()
        # the evidence first: it has what others need, and they may be whole then
        for ref in sorted(ref_sources.ref_names(self.repo), key=lambda ref: not ref.endswith("/evidence")):
            if problem := self._problem(ref):
                self._ref(ref, problem)
                self._refill(objects)
        self._apply_again()
        for place, index in indexes:
            is_made = gitcli.attempt(place, ["read-tree", "HEAD"]).code == 0
            done = "made again of HEAD" if is_made else "set aside"
            self.faults.append(Fault(str(index), "it could not be read", done))
        self._reflogs()
        self.faults += self._left_tips()
        self.missing = refill.lost(self.repo)
        self.faults += [f if f.what.split()[1] not in self.missing else replace(f, done="") for f in objects]

    # -- HEAD -----------------------------------------------------------------------------------------

    def _is_head_broken(self) -> bool:
        return not re.fullmatch(r"refs/.+|[0-9a-f]{40}", worktree.head_of(self.repo.git_dir))

    def _is_head_lost(self) -> bool:
        head = worktree.head_of(self.repo.git_dir)
        return bool(_ID.fullmatch(head)) and not self.repo.has(head)

    def _detached_head(self) -> None:
        """Put a HEAD that is on no branch back to the newest commit of its reflog, else on a branch."""
        for commit, _, source in ref_sources.earlier(self.repo, "HEAD"):
            if self._is_whole(commit):
                self.attic.rewrite(self.repo.git_dir / "HEAD", f"{commit}\n".encode())
                done = f"put back to {commit[:12]}, which the {source} has"
                self.faults.append(Fault("HEAD", _HEAD_LOST, done))
                self._reopen()
                return
        self._head(_HEAD_LOST)

    def _head(self, problem: str) -> None:
        """Put HEAD back on the branch that its reflog says was checked out last, else on the store's main."""
        loc = self._location()
        heads = ref_sources.branches(self.repo)
        last = ref_sources.checked_out(self.repo)
        usual = [*([last] if last else []), loc.config.main if loc else "main", "main", "master"]
        # where none is there, any: without a HEAD git does not tell what else there is
        branch = next((name for name in usual if name in heads), usual[0])
        file = self.repo.git_dir / "HEAD"
        if file.exists():
            self.attic.take(file)
        file.write_text(f"ref: {layout.HEADS}{branch}\n", "utf-8", "surrogateescape")
        self.faults.append(Fault("HEAD", problem, f"on branch {branch} again"))
        self._reopen()

    # -- objects ------------------------------------------------------------------------------------

    def _objects(self) -> list[Fault]:
        broken = list(salvage.loose_faults(self.repo))
        for file, _ in broken:
            self.attic.take(file)
        for pack, fault in list(salvage.pack_faults(self.repo)):
            self.faults.append(replace(fault, done=salvage.mend_pack(self.repo, self.attic, pack)))
        if self.faults or broken:
            salvage.set_derived_aside(self.repo, self.attic)
        self._reopen()
        return [replace(fault, done="set aside; nothing leads to it now") for _, fault in broken]

    def _refill(self, objects: list[Fault]) -> None:
        """Write lost objects again, as long as that brings another one in reach."""
        named = {fault.what.split()[1]: number for number, fault in enumerate(objects)}
        while wanted := refill.lost(self.repo):
            found = dict(refill.from_working_trees(self.repo, wanted))
            loc = self._location()
            if loc:
                found |= dict(refill.from_patches(loc, {o: k for o, k in wanted.items() if o not in found}))
                heads = ref_sources.ref_names(self.repo, layout.HEADS)
                tips = [tip for ref in heads if (tip := ref_sources.value(self.repo, ref))]
                found |= dict(refill.from_records(loc, wanted, tips))
            for object_id, source in found.items():
                done = f"written again from {source}"
                if object_id in named:
                    objects[named[object_id]] = replace(objects[named[object_id]], done=done)
                else:
                    objects.append(Fault(f"object {object_id}", "it is missing", done))
                    named[object_id] = len(objects) - 1
            if not found:
                break
            self._reopen()

    # -- refs ---------------------------------------------------------------------------------------

    def _problem(self, ref: str) -> str:
        """Return what is wrong with a ref; "" where nothing is."""
        try:
            tip = self.repo.ref(ref)
        except RepositoryError as error:
            return error.message
        if tip and ref.startswith(JUDGED) and not self._is_whole(tip):
            return f"not all folders of its commit {tip} are there"
        return ""

    def _is_whole(self, commit: str) -> bool:
        """Return whether a commit and its folders are there: a file that is lost moves no branch."""
        if commit not in self.whole:
            self.whole[commit] = salvage.has_files(self.repo, commit, pages=False)
        return self.whole[commit]

    def _ref(self, ref: str, problem: str) -> None:
        for commit, since, source in ref_sources.earlier(self.repo, ref):
            if not self._is_whole(commit):
                continue
            kept = self._keep(ref_sources.value(self.repo, ref))
            file = self.repo.common_dir / ref
            if file.is_file():
                self.attic.take(file)
            reason = f"xp repair: back to what the {source} has"
            gitcli.run(self.repo.place, ["update-ref", "-m", reason, ref, commit])
            self._reopen()
            done = f"put back to {commit[:12]}, which the {source} has{kept}"
            self.faults.append(Fault(ref, problem, done))
            self.moved.append((ref, since))
            return
        self.faults.append(Fault(ref, problem))

    def _keep(self, commit: str | None) -> str:
        """Keep a commit that a ref is taken off from gc, under a ref of its own, and say so."""
        if commit is None:
            return ""
        name = f"{KEPT}{commit[:12]}"
        gitcli.run(self.repo.place, ["update-ref", name, commit])
        return f"; {commit[:12]} is kept as {name}"

    def _left_tips(self) -> list[Fault]:
        """Name the commits that nothing leads to, where there is no branch at all: they were its branches."""
        if self.repo.ref_names(layout.HEADS):
            return []
        told = gitcli.attempt(self.repo.place, ["fsck", "--connectivity-only"]).out.decode("utf-8", "replace")
        tips = [line.split()[2] for line in told.splitlines() if line.startswith("dangling commit ")]
        problem = "nothing leads to it; `git branch NAME {}` makes it a branch again: {}"
        subjects = (self.repo.commit(tip).message.strip().partition("\n")[0] for tip in tips)
        return [
            Fault(f"commit {tip}", problem.format(tip[:12], subject))
            for tip, subject in zip(tips, subjects, strict=True)
        ]

    def _apply_again(self) -> None:
        """Apply the plans again that were on a branch which was put back, and are on record."""
        loc = self._location()
        branches = [row for row in self.moved if row[0].startswith(layout.HEADS)]
        if loc is None or ref_sources.value(self.repo, loc.evidence_ref) is None:
            return
        for ref, since in branches:
            self.faults += lost_plans.apply_again(loc, ref, since) if ref != loc.evidence_ref else []
        self._reopen()

    def _packed_refs(self) -> None:
        """Keep the lines of a damaged packed-refs that can be read."""
        file = self.repo.common_dir / "packed-refs"
        lines = ref_sources.lines_of(file)
        good = ref_sources.readable(lines)
        if good != lines:
            self.attic.rewrite(file, b"".join(good))
            self.faults.append(Fault("packed-refs", "lines of it are garbage", "the others were kept"))

    def _reflogs(self) -> None:
        """Drop entries of lost commits, as git takes each for an error; the logs as they were are kept."""
        logs = [f for f in (self.repo.common_dir / "logs").rglob("*") if f.is_file()]
        logs += [f for f in self.repo.common_dir.glob("worktrees/*/logs/**/*") if f.is_file()]
        dropped = False
        for log in logs:
            before = ref_sources.lines_of(log)
            after = list(ref_sources.without(before, self._is_lost))
            if after != before:
                self.attic.rewrite(log, b"".join(after))
                dropped = True
        if dropped:
            self.faults.append(Fault("reflogs", "entries lead to lost commits", "those entries were dropped"))

    def _is_lost(self, commit: str) -> bool:
        return bool(_ID.fullmatch(commit) and commit.strip("0")) and not self.repo.has(commit)

    # -- the rest -----------------------------------------------------------------------------------

    def _broken_indexes(self) -> Iterator[tuple[Path, Path]]:
        """Yield the working trees whose index cannot be read, with the index."""
        for place in {place for places in worktree.by_branch(self.repo).values() for place in places}:
            if gitcli.attempt(place, ["ls-files", "-s"]).code:
                name = gitcli.run(place, ["rev-parse", "--path-format=absolute", "--git-path", "index"])
                yield place, self.repo.common_dir / name.decode("utf-8", "surrogateescape").strip("\n")

    def _location(self) -> Location | None:
        try:
            return Location.find(self.path)
        except XpError:  # what says where the store is, is lost too
            return None

    def _reopen(self) -> None:
        fresh = Repo.discover(self.path)
        if fresh:
            self.repo = fresh
        self.whole.clear()
