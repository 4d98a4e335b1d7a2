"""Tell git, in this clone only, to merge pages by statement and to head the hunks of a diff by section.

    .git/config             merge.xp.*: the merge driver
    .git/info/attributes    which files it is for; the project's own .gitattributes stays as it is

Both are taken out as they were put in; what somebody else has set up under the same name is left alone.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from xpstore import gitcli, layout
from xpstore.errors import RepositoryError

if TYPE_CHECKING:
    from xpstore.location import Location

_SECTION = "merge.xp"
_DRIVER = (
    "if command -v xp >/dev/null; then xp merge-driver %O %A %B %L %P;"
    # a driver that is missing leaves ours without a marker, as if theirs had never been
    " else git merge-file --marker-size=%L -L ours -L base -L theirs %A %O %B; fi"
)
_SETTINGS = {
    f"{_SECTION}.name": "pages of experiences, by statement",
    f"{_SECTION}.driver": _DRIVER,
    f"{_SECTION}.recursive": "binary",
}
_HEAD = "# xpstore {}: `xp hooks install` made this line and the next one"


def install(loc: Location) -> list[str]:
    """Set up both drivers for a store; return what changed, nothing where all is as it should be.

    Raises RepositoryError where the git directory cannot be written.
    """
    changed = []
    if _setting(loc) is None:
        for key, value in _SETTINGS.items():
            gitcli.run(loc.repo.place, ["config", "--local", key, value])
        changed.append("merge driver")
    old = _read(loc)
    # in front: of several lines on a file the last one wins, and that is then the user's own
    new = _lines(loc) + _without(loc, old)
    if new != old:
        _write(loc, new)
        changed.append("attributes")
    return changed


def uninstall(loc: Location) -> list[str]:
    """Take out what `install` has set up; return what changed. Raises RepositoryError as `install`."""
    changed = []
    old = _read(loc)
    new = _without(loc, old)
    if new != old:
        _write(loc, new)
        changed.append("attributes")
    if _setting(loc) == _DRIVER and b"\n# xpstore " not in b"\n" + new:  # no other store here needs it
        gitcli.run(loc.repo.place, ["config", "--local", "--remove-section", _SECTION])
        changed.append("merge driver")
    return changed


def state(loc: Location) -> dict[str, bool]:
    """Say what is set up: `driver` and `attributes`, and whether git uses it for a page: `effective`."""
    page = loc.in_tree(f"{layout.EXPERIENCES}/a.md")
    out = gitcli.attempt(loc.repo.place, ["check-attr", "-z", "merge", "--", page]).out
    is_used = out.split(b"\0")[2:3] == [b"xp"]
    has = _setting(loc) is not None
    return {"driver": has, "attributes": _lines(loc) in _read(loc), "effective": has and is_used}


def _setting(loc: Location) -> str | None:
    done = gitcli.attempt(loc.repo.place, ["config", "--get", f"{_SECTION}.driver"])
    return None if done.code else done.out.decode("utf-8", "replace").rstrip("\n")


def _lines(loc: Location) -> bytes:
    """Return our lines of the attributes file: the store's own folder, whatever characters its name has."""
    folder = re.sub(r"[\\*?\[\]!#]", r"\\\g<0>", loc.in_tree(layout.EXPERIENCES))
    pattern = f"/{folder}/*.md"
    if re.search(r'[\s"]', pattern):
        pattern = '"' + pattern.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = f"{_HEAD.format(loc.config.id)}\n{pattern} merge=xp diff=markdown\n"
    return text.encode("utf-8", "surrogateescape")


def _without(loc: Location, data: bytes) -> bytes:
    head = re.escape(_HEAD.format(loc.config.id).encode())
    return re.sub(rb"(?m)^" + head + rb"\n[^\n]*(?:\n|\Z)", b"", data)


def _file(loc: Location) -> Path:
    return Path(loc.repo.common_dir, "info", "attributes")


def _read(loc: Location) -> bytes:
    try:
        return _file(loc).read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise _failed(loc, error) from error


def _write(loc: Location, data: bytes) -> None:
    file = _file(loc)
    draft = file.with_name("attributes.xpstore-draft")
    try:
        if not data:
            file.unlink()
            return
        file.parent.mkdir(exist_ok=True)
        draft.write_bytes(data)
        if file.exists():
            draft.chmod(file.stat().st_mode & 0o777)
        draft.replace(file)
    except OSError as error:
        raise _failed(loc, error) from error


def _failed(loc: Location, error: OSError) -> RepositoryError:
    return RepositoryError(
        f"cannot change {_file(loc)}: {error.strerror or error}", hint="run it again when it can be written"
    )
