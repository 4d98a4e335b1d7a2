"""The pygit2 door: what the store reads from a repository, and the one safe way to move its refs.

A Repo belongs to one thread: libgit2's objects are not shared. Nothing of pygit2 leaves this module;
its untyped errors become RepositoryError or NotFoundError. What is damaged is never taken for absent.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pygit2
from pygit2.enums import ObjectType

from xpstore import refs, revision
from xpstore.cache import ObjectCache
from xpstore.durable import sync
from xpstore.errors import NotFoundError, RepositoryError, UsageError
from xpstore.failures import DAMAGE, DISK_SAYS_NO, PARTIAL, SHALLOW, failure, words
from xpstore.loose import LooseObjects, branch_value, ref_files
from xpstore.objects import EMPTY_TREE, Commit, GitObject, Person, Tree, parse_tree
from xpstore.reader import TreeReader
from xpstore.refs import Move, PlainRefs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pygit2.transaction import ReferenceTransaction

    Hook = Callable[[], None]

__all__ = ["Busy", "Move", "Repo"]

FAILURES = (pygit2.GitError, KeyError, ValueError, OSError)
"""What pygit2 raises when git or the disk says no."""
LOCK_HELD = ("failed to lock file", "File exists", "No such file or directory")
"""libgit2's words for a ref lock that somebody holds; the last one: git pack-refs just removed the folder."""
OPEN_PACKS = 64
"""How many packs of its own a writer keeps open: libgit2 closes none, even where the file is gone."""
NEUTRAL = ("xpstore", "xpstore@xpstore.invalid")
"""The committer where git has no identity: containers, CI."""


class Busy(Exception):  # noqa: N818 - not an error for people: the caller tries again
    """Another process holds the lock of a ref or of an index at this moment."""


@contextmanager
def _failing(what: str, where: object) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise failure(what, where, error) from error


class Repo(TreeReader):
    """One git repository, bare or with a working tree."""

    def __init__(self, raw: pygit2.Repository) -> None:
        # as in git: deflate's checksum is checked at every reading, the SHA-1 by fsck; it is half of the time
        pygit2.settings.enable_strict_hash_verification(False)
        self._raw = raw
        self.git_dir = Path(raw.path)
        """The git directory of this working tree."""
        pointer = self.git_dir / "commondir"
        self.common_dir = (
            (self.git_dir / pointer.read_text().strip()).resolve() if pointer.is_file() else self.git_dir
        )
        """The git directory that all working trees share."""
        self.workdir = Path(raw.workdir) if raw.workdir else None
        self._odb = raw.odb
        self._loose = LooseObjects(self.common_dir / "objects")
        self._known = ObjectCache()
        self.written = 0
        """How many groups of objects this process has written here."""
        self._who: tuple[str, str] | None = None

    @classmethod
    def discover(cls, path: Path) -> Repo | None:
        """Open the repository that `path` is in; None where there is none.

        The environment is not asked: GIT_DIR points elsewhere in hooks.
        """
        with _failing("open the repository", path):
            found = pygit2.discover_repository(str(path))
            return cls(pygit2.Repository(found)) if found else None

    @classmethod
    def create(cls, path: Path, branch: str) -> Repo:
        """Make a new repository with a working tree at `path`, on the unborn branch `branch`."""
        with _failing("make a repository", path):
            return cls(pygit2.init_repository(str(path), initial_head=branch))

    @property
    def place(self) -> Path:
        """The directory to start git in, and to name in messages."""
        return self.workdir or self.git_dir

    @property
    def pack_dir(self) -> Path:
        """Where packs live."""
        return self.common_dir / "objects" / "pack"

    @property
    def remotes(self) -> list[str]:
        """The names of the remotes."""
        with _failing("read the configuration", self.place):
            return [name for name in self._raw.remotes.names() if name]

    def setting(self, key: str) -> str | None:
        """Return a value of git's configuration; None where it is not set."""
        with _failing("read the configuration", self.place):
            config = self._raw.config
            return config[key] if key in config else None  # noqa: SIM401 - it has no get

    # -- refs ---------------------------------------------------------------------------------------

    def head_ref(self) -> str | None:
        """Return the branch that HEAD names, unborn or not; None when HEAD is detached."""
        with _failing("read HEAD", self.place):
            target = self._raw.lookup_reference("HEAD").target
        return target if isinstance(target, str) else None

    def ref(self, name: str) -> str | None:
        """Return the commit that a full ref name points at; None: no such ref. One damaged or lost raises."""
        plain = refs.value(str(self.common_dir), name)
        if plain in self._known.commits:
            return plain
        if name == "HEAD" and (branch := self.head_ref()):
            return self.ref(branch)  # an error names the branch then
        hint = f"{DAMAGE}; `git reflog show {name}` has what it was"
        try:
            target = str(self._raw.lookup_reference(name).resolve().target)
        except KeyError:
            value = branch_value(self.common_dir, name)
            if value is None:
                what = f"{name} in {self.place} is gone, its reflog is not"
                raise RepositoryError(what, hint=hint) from None
            if not value:
                return None
            target = value
        except FAILURES as error:
            what = f"cannot read {name} in {self.place}: {words(error)}"
            raise RepositoryError(what, hint=hint) from error
        if not self.has(target):
            raise RepositoryError(f"{name} in {self.place} is at {target}, which is missing", hint=hint)
        return target

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Return the refs whose full name starts with `prefix` and what they point at, sorted by name."""
        found = {name: self.ref(name) for name in self.ref_names(prefix)}
        return {name: target for name, target in found.items() if target}

    def ref_names(self, prefix: str = "refs/") -> list[str]:
        """Return the full names of the refs, damaged ones too, that start with `prefix`, sorted."""
        with _failing("list the refs", self.place):
            names = {n for n in self._raw.listall_references() if n.startswith(prefix)}
            files = ref_files(self.common_dir, prefix)  # libgit2 leaves out the ones that are damaged
            names.update(filter(pygit2.reference_is_valid_name, files))
        return sorted(names)

    def resolve(self, spec: str) -> str:
        """Return the id of the commit that a branch, tag, id, abbreviation or expression names.

        Raises NotFoundError where there is none, RepositoryError where something on the way is damaged.
        """
        if revision.ID.fullmatch(spec):
            found = spec if self.has(spec) else None
        else:
            found = self._named(spec) or revision.computed(self.place, spec)
        if not found:
            self._named(revision.start(spec))  # where that is damaged, it says so
        commit = self._peeled(found) if found else None
        if commit is None:
            raise NotFoundError(f"no commit {spec!r} in {self.place}", hint="git branch -a lists branches")
        return commit

    def _named(self, spec: str) -> str | None:
        names = filter(pygit2.reference_is_valid_name, revision.ref_names(spec))
        return next(filter(None, map(self.ref, names)), None)

    def _peeled(self, object_id: str) -> str | None:
        """Return the commit that an object is, or that a tag names; None for a tree or a file."""
        with self._reading(object_id):
            kind, data = self._raw.read(object_id)
        if kind == ObjectType.TAG:
            return self._peeled(data[7:47].decode("ascii", "replace"))
        return object_id if kind == ObjectType.COMMIT else None

    def check_ref(self, name: str) -> None:
        """Raise UsageError for a name that git does not allow for a ref."""
        if not pygit2.reference_is_valid_name(name):
            raise UsageError(
                f"{name!r} is no name for a branch", hint="git check-ref-format explains the rules"
            )

    def swap(self, moves: Sequence[Move], before: Hook = lambda: None, *, is_plain: bool = True) -> bool:
        """Move the refs, in order, if every one of them still is at its `old`; else move none.

        Each ref is locked, read again under its lock and then set: the only way measured to lose nothing,
        also for one that does not exist yet. `before` runs when all are locked at the right values; what it
        raises stops the move. `is_plain`: none is checked out. The store lock should be held. Raises Busy.
        """
        if is_plain and self._swap_plain(moves, before):
            return True
        self._identity()
        with ExitStack() as stack:
            # locked in the opposite order, so that leaving the stack writes the first move first
            locked = [(move, stack.enter_context(self._locked(move.ref))) for move in reversed(moves)]
            if any(self.ref(move.ref) != move.old for move in moves):
                return False
            before()
            for move, transaction in locked:
                if move.new is None:
                    transaction.remove(move.ref)
                    (self.common_dir / "logs" / move.ref).unlink(missing_ok=True)  # as git does
                else:
                    transaction.set_target(move.ref, move.new, message=move.reason)
        # not left to libgit2, which syncs the reflog too; a file synced after its renaming has its name there
        with _failing("sync the refs", self.place):
            sync([f"{self.common_dir}/{move.ref}" for move in moves])
        return True

    def _swap_plain(self, moves: Sequence[Move], before: Hook) -> bool:
        plain = PlainRefs(str(self.common_dir), moves)
        try:
            if not plain.lock():
                return False
            before()
            plain.move(self.person())
        except OSError as error:
            raise failure("move the refs", self.place, error) from error
        finally:
            plain.release()
        return True

    @contextmanager
    def _locked(self, ref: str) -> Iterator[ReferenceTransaction]:
        with _failing(f"move {ref}", self.place), self._raw.transaction() as transaction:
            self._lock(transaction, ref)
            yield transaction

    def _lock(self, transaction: ReferenceTransaction, ref: str) -> None:
        try:
            transaction.lock_ref(ref)
        except FAILURES as error:
            text = str(error)
            if any(part in text for part in LOCK_HELD) and not any(part in text for part in DISK_SAYS_NO):
                raise Busy(words(error)) from error
            failed = failure(f"lock {ref}", self.place, error)
            if "director" in text:
                failed.hint = "a branch and a folder of branches cannot share one name"
            raise failed from error

    # -- objects ------------------------------------------------------------------------------------

    def commit(self, commit_id: str) -> Commit:
        """Return a commit by its full id."""
        known = self._known.commits.get(commit_id)
        if known is None:
            known = self._read_commit(commit_id)
            self._known.add_commit(known)
        return known

    def _read_commit(self, commit_id: str) -> Commit:
        with self._reading(commit_id, "commit"):
            found = self._raw[commit_id].peel(pygit2.Commit)
            return Commit(
                str(found.id),
                str(found.tree_id),
                tuple(str(p) for p in found.parent_ids),
                Person(found.author.name, found.author.email, found.author.time, found.author.offset),
                Person(
                    found.committer.name, found.committer.email, found.committer.time, found.committer.offset
                ),
                found.message,
            )

    def lend(self, objects: Path) -> None:
        """Read the objects of another folder too, with this value; `gitcli.lending` lets git."""
        with _failing("read the objects", objects):
            self._odb.add_disk_alternate(str(objects))

    def has(self, object_id: str) -> bool:
        """Return whether the object is here, damaged or not."""
        return object_id in self._odb

    @property
    def is_shallow(self) -> bool:
        """Whether this is a clone whose history was cut off."""
        return self._raw.is_shallow

    @property
    def is_partial(self) -> bool:
        """Whether this is a clone that left objects on the server."""
        with _failing("read the configuration", self.place):
            return any(entry.name.endswith((".promisor", ".partialclone")) for entry in self._raw.config)

    def first_parents(self, start: str) -> Iterator[Commit]:
        """Yield the commit `start` and its first parents, newest first; stops where a shallow clone does."""
        at: str | None = start
        while at and (at == start or self.has(at) or not self.is_shallow):
            commit = self.commit(at)
            yield commit
            at = commit.parents[0] if commit.parents else None

    def is_ancestor(self, old: str, new: str) -> bool:
        """Return whether `old` is `new` or one of its ancestors; False where `old` is not here."""
        if old == new:
            return True
        if not self.has(old):
            return False
        return revision.is_ancestor(self.place, old, new)

    def read_tree(self, tree_id: str) -> Tree:
        """Return one tree."""
        if tree_id == EMPTY_TREE:  # git knows it without an object
            return parse_tree(b"")
        known = self._known.trees.get(tree_id)
        if known is None:
            data = self._read(tree_id, ObjectType.TREE)
            with _failing(f"read tree {tree_id}", self.place):
                known = parse_tree(data)
            self._known.add_tree(tree_id, known)
        return known

    def remember(self, objects: Iterable[GitObject]) -> None:
        """Spare later calls the reading of trees and commits that were just written."""
        self._known.add_written(objects)
        self.written += 1
        if self.written % OPEN_PACKS == 0:
            self.reopen()

    def reopen(self) -> None:
        """Close the packs that are open, so that only those are opened again that are there."""
        self._raw.free()
        self._odb = self._raw.odb

    def blob(self, blob_id: str) -> bytes:
        """Return the bytes of a file."""
        return self._read(blob_id, ObjectType.BLOB)

    def size(self, blob_id: str) -> int:
        """Return how many bytes a file has, without reading it."""
        with self._reading(blob_id):
            return int(self._odb.read_header(blob_id)[1])

    def _read(self, object_id: str, kind: ObjectType) -> bytes:
        self._check_loose(object_id)
        try:  # no context manager: it would take as long as the reading
            found, data = self._raw.read(object_id)
        except FAILURES as error:
            raise self._unreadable(f"object {object_id}", error) from error
        if found != kind:
            raise RepositoryError(f"object {object_id} in {self.place} is no {kind.name.lower()}")
        return data

    def _check_loose(self, object_id: str) -> None:
        if problem := self._loose.problem(object_id):
            raise RepositoryError(f"cannot read object {object_id} in {self.place}: {problem}", hint=DAMAGE)

    @contextmanager
    def _reading(self, object_id: str, kind: str = "object") -> Iterator[None]:
        self._check_loose(object_id)
        try:
            yield
        except FAILURES as error:
            raise self._unreadable(f"{kind} {object_id}", error) from error

    def _unreadable(self, what: str, error: Exception) -> RepositoryError:
        failed = failure(f"read {what}", self.place, error)
        if isinstance(error, KeyError) and self.is_partial:
            failed.hint = PARTIAL
        elif isinstance(error, KeyError) and self.is_shallow:
            failed.hint = SHALLOW
        return failed

    # -- who ----------------------------------------------------------------------------------------

    def person(self) -> Person:
        """Return the user's git identity, or a neutral one, at this moment."""
        name, email = self._identity()
        now = time.time()
        return Person(name, email, int(now), time.localtime(now).tm_gmtoff // 60)

    def _identity(self) -> tuple[str, str]:
        """Return name and address, and make them the reflog's who. A process keeps the ones it has found."""
        if self._who:
            return self._who
        with _failing("read the configuration", self.place):
            try:
                user = self._raw.default_signature
                who = self._who = user.name, user.email
            except (KeyError, ValueError):  # name or address is missing, or is empty
                who = NEUTRAL
            self._raw.set_ident(*who)
        return who
