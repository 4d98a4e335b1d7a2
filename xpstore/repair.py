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

from xpstore import git_folder, gitcli, layout, lock, lost_plans, maintain, refill, salvage, worktree
from xpstore.errors import NotAStoreError, RepositoryError, XpError
from xpstore.git import Repo
from xpstore.location import Location
from xpstore.loose import has_log, ref_files
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
NOTHING = "0" * 40
_ID = re.compile(r"[0-9a-f]{40}")
_PACKED = re.compile(r"([0-9a-f]{40}) (refs/\S+)|\^[0-9a-f]{40}|#.*")


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
        if _good_lines(*(lines := self._packed_lines())) != lines:
            self.faults.append(Fault("packed-refs", "lines of it are garbage"))
            return  # the refs cannot be listed before that is mended
        self.faults += [Fault(ref, problem) for ref, problem in self._broken_refs()]
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
        for ref, problem in sorted(self._broken_refs(), key=lambda row: not row[0].endswith("/evidence")):
            self._ref(ref, problem)  # the evidence first: it has what others need
            self._refill(objects)
        self._apply_again()
        for place, index in indexes:
            gitcli.attempt(place, ["read-tree", "HEAD"])
            self.faults.append(Fault(str(index), "it could not be read", "made again of HEAD"))
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
        for commit, _, source in self._earlier("HEAD"):
            if self._is_whole(commit):
                self.attic.copy(file := self.repo.git_dir / "HEAD")
                file.write_text(f"{commit}\n", "utf-8")
                done = f"put back to {commit[:12]}, which the {source} has"
                self.faults.append(Fault("HEAD", _HEAD_LOST, done))
                self._reopen()
                return
        self._head(_HEAD_LOST)

    def _head(self, problem: str) -> None:
        """Put HEAD back on the branch that its reflog says was checked out last, else on the store's main."""
        log = self.repo.git_dir / "logs" / "HEAD"
        lines = log.read_text("utf-8", "replace").splitlines() if log.is_file() else []
        moved = [m[1] for line in lines if (m := re.search(r"\tcheckout: moving from .* to (\S+)$", line))]
        loc = self._location()
        places = (self.repo.common_dir, self.repo.common_dir / "logs")
        refs = {*_packed(self.repo), *(ref for place in places for ref in ref_files(place, layout.HEADS))}
        heads = {ref.removeprefix(layout.HEADS) for ref in refs}
        usual = [*moved[-1:], loc.config.main if loc else "main", "main", "master"]
        # where none is there, any: without a HEAD git does not tell what else there is
        branch = next((name for name in usual if name in heads), usual[0])
        file = self.repo.git_dir / "HEAD"
        if file.exists():
            self.attic.take(file)
        file.write_text(f"ref: {layout.HEADS}{branch}\n", "utf-8")
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
                tips = [tip for ref in ref_names(self.repo, layout.HEADS) if (tip := self._value(ref))]
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

    def _broken_refs(self) -> Iterator[tuple[str, str]]:
        for ref in ref_names(self.repo):
            try:
                tip = self.repo.ref(ref)
            except RepositoryError as error:
                yield ref, error.message
                continue
            if tip and ref.startswith(JUDGED) and not self._is_whole(tip):
                yield ref, f"not all folders of its commit {tip} are there"

    def _value(self, ref: str) -> str | None:
        try:
            return self.repo.ref(ref)
        except RepositoryError:
            return None

    def _is_whole(self, commit: str) -> bool:
        """Return whether a commit and its folders are there: a file that is lost moves no branch."""
        if commit not in self.whole:
            self.whole[commit] = salvage.has_files(self.repo, commit, pages=False)
        return self.whole[commit]

    def _ref(self, ref: str, problem: str) -> None:
        for commit, since, source in self._earlier(ref):
            if not self._is_whole(commit):
                continue
            kept = self._keep(self._value(ref))
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

    def _earlier(self, ref: str) -> Iterator[tuple[str, int, str]]:
        """Yield the commits that a ref was at, newest first: id, since when (Unix time), who says so."""
        log = (self.repo.git_dir if ref == "HEAD" else self.repo.common_dir) / "logs" / ref
        lines = log.read_text("utf-8", "replace").splitlines() if log.is_file() else []
        for line in reversed(lines):
            moved = re.match(r"([0-9a-f]{40}) ([0-9a-f]{40}) .*> (\d+) ", line)
            if moved:
                yield moved[2], int(moved[3]), "reflog"
        if lines and _ID.match(lines[0]):
            yield lines[0][:40], 0, "reflog"
        if packed := _packed(self.repo).get(ref):
            yield packed, 0, "packed-refs"
        if ref.startswith(layout.HEADS):
            for remote in self.repo.remotes:
                seen = self._value(f"{layout.REMOTES}{remote}/{ref.removeprefix(layout.HEADS)}")
                if seen:
                    yield seen, 0, f"remote {remote}"

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
        if loc is None or self._value(loc.evidence_ref) is None:
            return
        for ref, since in branches:
            self.faults += lost_plans.apply_again(loc, ref, since) if ref != loc.evidence_ref else []
        self._reopen()

    def _packed_refs(self) -> None:
        """Keep the lines of a damaged packed-refs that can be read."""
        lines = self._packed_lines()
        good = _good_lines(*lines)
        if good != lines:
            file = self.repo.common_dir / "packed-refs"
            self.attic.take(file)
            file.write_text("".join(good), "utf-8")
            self.faults.append(Fault("packed-refs", "lines of it are garbage", "the others were kept"))

    def _packed_lines(self) -> list[str]:
        file = self.repo.common_dir / "packed-refs"
        return file.read_text("utf-8", "replace").splitlines(keepends=True) if file.is_file() else []

    def _reflogs(self) -> None:
        """Drop entries of lost commits, as git takes each for an error; the logs as they were are kept."""
        logs = [f for f in (self.repo.common_dir / "logs").rglob("*") if f.is_file()]
        logs += [f for f in self.repo.common_dir.glob("worktrees/*/logs/**/*") if f.is_file()]
        dropped = False
        for log in logs:
            before = log.read_bytes()
            after = b"".join(self._without_lost(before.splitlines(keepends=True)))
            if after != before:
                self.attic.copy(log)
                log.write_bytes(after)
                dropped = True
        if dropped:
            self.faults.append(Fault("reflogs", "entries lead to lost commits", "those entries were dropped"))

    def _without_lost(self, lines: list[bytes]) -> Iterator[bytes]:
        """Yield the entries whose commits are there, each beginning where the one before it ends."""
        end = NOTHING
        for line in lines:
            old, new = (part.decode("ascii", "replace") for part in (line[:40], line[41:81]))
            if self._is_lost(new):
                continue
            yield (end.encode() if self._is_lost(old) else line[:40]) + line[40:]
            end = new if _ID.fullmatch(new) else end

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


def ref_names(repo: Repo, prefix: str = "refs/") -> list[str]:
    """Return the names of all refs that are there, damaged or not, and of those that only a log knows."""
    logs = [n for n in ref_files(repo.common_dir / "logs", prefix) if has_log(repo.common_dir, n)]
    return sorted(n for n in {*repo.ref_names(prefix), *logs} if not n.endswith(("/HEAD", ".lock")))


def _good_lines(*lines: str) -> list[str]:
    return [line for line in lines if line.endswith("\n") and _PACKED.fullmatch(line.removesuffix("\n"))]


def _packed(repo: Repo) -> dict[str, str]:
    file = repo.common_dir / "packed-refs"
    text = file.read_text("utf-8", "replace") if file.is_file() else ""
    rows = (_PACKED.fullmatch(line) for line in text.splitlines())
    return {row[2]: row[1] for row in rows if row and row[2]}
