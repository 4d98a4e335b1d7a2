"""What people are told where git or the disk said no."""

from __future__ import annotations

from xpstore.errors import RepositoryError

DAMAGE = (
    "a loss of power or a full disk can do that; `xp repair` mends what can be mended (`git fsck --full` "
    "names all that is broken), a clone or a backup has the rest"
)
DISK_SAYS_NO = ("Read-only file system", "No space left", "Permission denied", "quota exceeded")
"""What libgit2's text has in it where the system refused."""
PARTIAL = "this clone is a partial one: git fetch --refetch --no-filter brings what it left out"
SHALLOW = "the history of this clone is cut off: git fetch --unshallow brings the rest"


def failure(what: str, where: object, error: Exception) -> RepositoryError:
    """Return the error of something that libgit2 or the disk refused to do."""
    return RepositoryError(f"cannot {what} in {where}: {words(error)}", hint=_hint(error))


def words(error: Exception) -> str:
    """Return what an exception of libgit2 says; it says little of what is not there."""
    if isinstance(error, KeyError):
        return "it is missing"
    return str(error).strip().rstrip(":") or type(error).__name__


def _hint(error: Exception) -> str:
    text = str(error)
    if "object format" in text:
        return "SHA-256 repositories are not supported; use one with SHA-1 objects"
    if "refstorage" in text or "refStorage" in text:
        return "reftable repositories are not supported; use one made with --ref-format=files"
    if "not owned" in text:
        return "git config --global --add safe.directory DIRECTORY, if you trust its owner"
    if isinstance(error, OSError) or any(part in text for part in DISK_SAYS_NO):
        return "check permissions and free space"
    if "config" in text:
        return "correct that file"
    return DAMAGE
