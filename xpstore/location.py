"""Where a store is: its repository, its folder in there, its configuration, its refs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from xpstore import gitcli, layout, revision, tracking
from xpstore.config import StoreConfig, parse_config
from xpstore.errors import FormatError, NotAStoreError, RepositoryError, UsageError
from xpstore.git import Repo

CONFIGS = 64
"""How many versions of xp.toml are remembered."""
_configs: dict[str, StoreConfig] = {}  # by blob: it is the same file at nearly every commit
START = "xp init DIR makes a store; -C DIR looks elsewhere"


@dataclass(frozen=True)
class Location:
    """One store. Used by one thread, like its repository."""

    repo: Repo
    prefix: str
    """The store's folder in the repository: "" for the root, else "a/b"."""
    config: StoreConfig

    @classmethod
    def find(cls, path: Path, store: str | None = None) -> Location:
        """Find the store that `path` is in.

        In a working tree: the nearest directory upwards with an xp.toml; else, and in a bare repository,
        the only store of the repository, or the one called `store` (its name, id or folder). Raises
        NotAStoreError where there is none, UsageError where there are several.
        """
        repo = Repo.discover(path)
        if repo is None:
            raise NotAStoreError(f"{path} is in no git repository", hint=START)
        if store is None and (nearest := _upwards(repo, path)) is not None:
            return nearest
        found = stores(repo)
        if store is not None:
            found = [at for at in found if store in {at.config.name, at.config.id, at.prefix}]
        if not found:
            wanted = f" called {store!r}" if store is not None else ""
            raise NotAStoreError(f"no store{wanted} in {repo.place}", hint=START)
        if len(found) > 1:
            names = ", ".join(f"{at.config.name or '(no name)'} in {at.prefix or '.'}" for at in found)
            raise UsageError(
                f"{repo.place} has {len(found)} stores: {names}", hint="choose one with --store NAME"
            )
        return found[0]

    @property
    def evidence_ref(self) -> str:
        """The ref of the evidence branch."""
        return layout.evidence_ref(self.config.name)

    @property
    def main_ref(self) -> str:
        """The ref of the branch that agents read from."""
        return f"{layout.HEADS}{self.config.main}"

    @property
    def candidate_prefix(self) -> str:
        """What branches of training runs start with, `refs/heads/` not included."""
        return layout.candidate_prefix(self.config.name)

    @property
    def notes_ref(self) -> str:
        """The ref of the evaluation notes."""
        return layout.notes_ref(self.config.name)

    def branch_ref(self, branch: str) -> str:
        """Return the full ref of a branch given by its short or full name.

        Raises UsageError for what `git check-ref-format --branch` refuses: such a ref could be made, but git
        takes its name for an option, or for what is checked out. So it does for a name that is the beginning
        of a full one: `heads/main` is main.
        """
        short = branch.removeprefix(layout.HEADS)
        readable = short.encode("utf-8", "replace").decode()
        if short in {"HEAD", "@"} or short.startswith(("-", "heads/", "refs/")) or short != readable:
            raise UsageError(
                f"{branch!r} is no name for a branch",
                hint="choose a name in UTF-8, not HEAD or @, that starts with no '-', heads/ or refs/",
            )
        self.repo.check_ref(f"{layout.HEADS}{short}")
        return f"{layout.HEADS}{short}"

    def tip_of(self, branch: str) -> str | None:
        """Return the commit of a branch, short or full name; of a remote's where it is missing here.

        None where there is none at all. Raises UsageError where it is missing and remotes disagree.
        """
        return tracking.tip(self.repo, self.branch_ref(branch))

    def resolve(self, spec: str) -> str:
        """Return the commit that anything names, as `Repo.resolve`; a remote's branch comes before a tag."""
        may_be_branch = spec.startswith(layout.HEADS) or revision.is_plain(spec)
        tip = self.tip_of(spec) if may_be_branch and self._is_branch_name(spec) else None
        return tip or self.repo.resolve(spec)

    def _is_branch_name(self, spec: str) -> bool:
        try:
            self.branch_ref(spec)
        except UsageError:  # an expression such as main~1
            return False
        return True

    def in_tree(self, path: str) -> str:
        """Return a store path as a path of the repository."""
        return layout.join(self.prefix, path)

    def at(self, commit_id: str) -> Location:
        """Return the store as it lies at a commit: code commits may have moved its folder.

        Where the commit has no xp.toml of this store (an older one), it is taken to lie where it is now.
        """
        tree = self.repo.commit(commit_id).tree
        if self._is_here(tree, self.prefix):
            return self
        moved = next((p for p in config_folders(self.repo, tree) if self._is_here(tree, p)), self.prefix)
        return replace(self, prefix=moved)

    def config_at(self, commit_id: str) -> StoreConfig:
        """Return the configuration that the store had at a commit; where it had none, the one it has now."""
        here = self.at(commit_id)
        return _config_at(self.repo, self.repo.commit(commit_id).tree, here.prefix) or self.config

    def _is_here(self, tree: str, prefix: str) -> bool:
        try:
            config = _config_at(self.repo, tree, prefix)
        except FormatError:  # written by another version or program: not this store as we know it
            return False
        return config is not None and config.id == self.config.id


def stores(repo: Repo) -> list[Location]:
    """Return the stores on the checked-out branch, or on the first branch that has any, sorted by folder.

    main and master are asked before other branches, those that only a remote has last.
    """
    heads = repo.refs(layout.HEADS)
    usual = [f"{layout.HEADS}main", f"{layout.HEADS}master"]
    tips = [heads[ref] for ref in [repo.head_ref(), *usual, *heads] if ref in heads]
    if repo.head_ref() is None:
        tips.insert(0, repo.resolve("HEAD"))
    tips += [tip for ref in usual for tip in tracking.copies(repo, ref).values()]
    for tip in dict.fromkeys(tips):
        found, unreadable = stores_at(repo, repo.commit(tip).tree)
        if found:
            return found
        if unreadable:
            raise unreadable
    return []


def stores_at(repo: Repo, tree: str) -> tuple[list[Location], FormatError | None]:
    """Return the stores in a tree, sorted by folder, and why the last of the unreadable files is none."""
    found, unreadable = [], None
    for prefix in config_folders(repo, tree):
        try:
            config = _config_at(repo, tree, prefix)
        except FormatError as error:  # perhaps another program's xp.toml
            unreadable = error
        else:
            found += [Location(repo, prefix, config)] if config else []
    return found, unreadable


def _upwards(repo: Repo, path: Path) -> Location | None:
    if repo.workdir is None:
        return None
    top = repo.workdir.resolve()
    at = path.resolve()
    while at.is_relative_to(top):
        file = at / layout.CONFIG
        if file.is_file():
            prefix = "" if at == top else PurePosixPath(at.relative_to(top)).as_posix()
            return Location(repo, prefix, parse_config(_text(file), str(file)))
        at = at.parent
    return None


def _text(file: Path) -> str:
    if file.is_symlink():
        raise FormatError(f"{file} is a symbolic link", hint="a store has its xp.toml itself; copy it there")
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{file} is not UTF-8", hint="restore it from git") from error
    except OSError as error:
        raise RepositoryError(f"cannot read {file}: {error.strerror or error}", hint="check it") from error


def config_folders(repo: Repo, tree: str) -> list[str]:
    """Return the folders of a tree that have an xp.toml; git lists big trees faster than we walk them."""
    out = gitcli.run(repo.place, ["ls-tree", "-r", "-z", "--full-tree", "--name-only", tree])
    paths = [PurePosixPath(path) for path in gitcli.records(out)]
    return sorted(
        "" if p.parent == PurePosixPath() else str(p.parent) for p in paths if p.name == layout.CONFIG
    )


def _config_at(repo: Repo, tree: str, prefix: str) -> StoreConfig | None:
    path = layout.join(prefix, layout.CONFIG)
    entry = repo.entry(tree, path)
    if entry is None or not entry.is_file:
        return None
    known = _configs.get(entry.id)
    if known is None:
        known = parse_config(repo.blob(entry.id).decode("utf-8", "replace"), path)
        if len(_configs) >= CONFIGS:
            _configs.clear()
        _configs[entry.id] = known
    return known
