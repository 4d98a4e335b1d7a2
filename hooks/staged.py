"""What is about to be committed, read from the index: never from the working tree, which may be ahead of it.

Git names the index in GIT_INDEX_FILE: `git commit FILE` and `git commit -a` use one of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hooks import changes
from xpstore import gitcli, layout
from xpstore.config import parse_config
from xpstore.objects import EMPTY_TREE, Entry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from hooks.changes import Change
    from xpstore.config import StoreConfig
    from xpstore.git import Repo


@dataclass(frozen=True, slots=True)
class Index:
    """The index of a commit that is being made."""

    repo: Repo
    file: Path | None
    """None: the usual one."""

    def changes(self) -> list[Change]:
        """Return what differs from HEAD, in the order of paths; a renamed file is two changes."""
        return changes.parsed(self._run("diff-index", "--cached", *changes.OPTIONS, self._head()))

    def entries(self, paths: Iterable[str]) -> dict[str, Entry]:
        """Return path → entry of these paths and of what is below them."""
        wanted = [path for path in paths if path]
        if not wanted:
            return {}
        found = {}
        for record in gitcli.records(self._run("ls-files", "-s", "-z", "--full-name", "--", *wanted)):
            meta, _, path = record.partition("\t")
            mode, blob, stage = meta.split(" ")
            if stage == "0":  # the others are the sides of a conflict; git commits none of them
                found[path] = Entry(path.rpartition("/")[2], int(mode, 8), blob)
        return found

    def stores(self, paths: Iterable[str]) -> dict[str, StoreConfig]:
        """Return folder → settings of the stores in which some of the paths are.

        Raises FormatError for an xp.toml that this program cannot read.
        """
        folders = {folder for path in paths for folder in homes(path)}
        files = self.entries(layout.join(folder, layout.CONFIG) for folder in sorted(folders))
        return {
            path.rpartition("/")[0]: parse_config(self.repo.blob(entry.id).decode("utf-8", "replace"), path)
            for path, entry in files.items()
            if entry.is_file
        }

    def _head(self) -> str:
        done = gitcli.attempt(
            self.repo.git_dir, ["rev-parse", "--verify", "-q", "HEAD^{tree}"], env=self._env()
        )
        return done.out.strip().decode() or EMPTY_TREE

    def _run(self, *args: str) -> bytes:
        return gitcli.run(self.repo.git_dir, args, env=self._env())

    def _env(self) -> dict[str, str]:
        # the repository by its name: with --git-dir it need not be the one around the current directory
        index = {"GIT_INDEX_FILE": str(self.file)} if self.file else {}
        return {"GIT_DIR": str(self.repo.git_dir), **index}


def homes(path: str) -> list[str]:
    """Return the folders whose store a path could belong to."""
    parts = path.split("/")
    found = ["/".join(parts[:at]) for at, part in enumerate(parts) if part == layout.EXPERIENCES]
    return [*found, "/".join(parts[:-1])] if parts[-1] == layout.CONFIG else found
