"""After a merge or a pull: which experiences are different now. Tells, and never writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks.remark import harmless, listed
from xpstore import gitcli, layout
from xpstore.errors import NotFoundError
from xpstore.snapshot import SUFFIX

if TYPE_CHECKING:
    from xpstore.git import Repo


def changed(repo: Repo) -> str:
    """Return the sentence to print: `2 experiences changed: refunds, returns`; "" for none.

    Git leaves in ORIG_HEAD where the branch was.
    """
    try:
        before, after = repo.resolve("ORIG_HEAD"), repo.resolve("HEAD")
    except NotFoundError:
        return ""
    options = ("-z", "-r", "--name-only", "--no-renames", "--no-commit-id")
    paths = gitcli.records(gitcli.run(repo.place, ["diff-tree", *options, before, after]))
    tree = repo.commit(after).tree
    names = [name for path in paths if (name := _experience(repo, tree, path))]
    if not names:
        return ""
    noun = "experience" if len(names) == 1 else "experiences"
    return f"{len(names)} {noun} changed: {harmless(listed(names))}"


def _experience(repo: Repo, tree: str, path: str) -> str:
    """Return the name of the experience that a path is; "" where it is none, or there is no store."""
    folder, _, file = path.rpartition("/")
    home, _, last = folder.rpartition("/")
    if last != layout.EXPERIENCES or not file.endswith(SUFFIX):
        return ""
    return file.removesuffix(SUFFIX) if repo.entry(tree, layout.join(home, layout.CONFIG)) else ""
