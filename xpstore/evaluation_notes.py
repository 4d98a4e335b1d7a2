"""The view of evaluations for `git log --notes=xp-eval`: a git note per commit, one JSON line per record.

The lines of a note are sorted and unique, as git's merge strategy `cat_sort_uniq` leaves them, so the notes
of two clones merge by `git notes merge` without a conflict. The truth is the evidence branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore import evidence, gitcli, objects, publish, trees

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from xpstore.location import Location

_NOTES = "refs/notes/"
_FANOUT = 2  # hex digits per folder: git reads notes at any depth, and rewrites them as it likes


def lines(loc: Location, commit: str) -> tuple[str, ...]:
    """Return the lines of a commit's note, sorted; none where it has no note."""
    tip = loc.repo.ref(loc.notes_ref)
    if tip is None:
        return ()
    tree = loc.repo.commit(tip).tree
    found = _merged(loc.repo.blob(blob) for _, blob in _places(loc, tree, commit))
    return tuple(line.decode("utf-8", "replace") for line in found)


def add(loc: Location, new: Mapping[str, Sequence[str]]) -> list[str]:
    """Add lines to the notes of commits, given by their full ids; return the commits whose note changed.

    Lines that are there already change nothing, and what other processes write meanwhile stays.
    """
    changed: list[str] = []

    def attempt() -> bool:
        addition, touched = _build(loc, new)
        moves = addition.moves(loc.notes_ref, "xp: evaluations")
        if moves and not publish.publish(loc.repo, addition.objects, moves):
            return False
        changed[:] = touched
        return True

    publish.retried(loc.repo, attempt, loc.notes_ref)
    if changed:
        _tell_git_how_to_merge(loc)
    return changed


def union(loc: Location, theirs: str) -> evidence.Addition:
    """Build, without writing anything, the notes of this clone and those of another one at a commit.

    `new` is `theirs` where this clone has none of its own.
    """
    old = loc.repo.ref(loc.notes_ref)
    if old is None or loc.repo.is_ancestor(old, theirs):
        return evidence.Addition(old, theirs, ())
    if loc.repo.is_ancestor(theirs, old):
        return evidence.Addition(old, old, ())
    lines_: dict[str, list[str]] = {}
    for path, blob in loc.repo.files(loc.repo.commit(theirs).tree):
        text = loc.repo.blob(blob).decode("utf-8", "replace")
        lines_.setdefault(path.replace("/", ""), []).extend(text.splitlines())
    addition, _ = _build(loc, lines_)
    added = addition.objects[-1].commit if addition.objects else None
    who, tree = loc.repo.person(), (added or loc.repo.commit(old)).tree
    made = objects.make_commit(tree, [theirs, old], who, who, "Notes of two clones\n")
    return evidence.Addition(old, made.id, (*addition.objects[:-1], made))


def _build(loc: Location, new: Mapping[str, Sequence[str]]) -> tuple[evidence.Addition, list[str]]:
    """Build, without writing anything, the commit that adds the lines, and name the notes it changes."""
    old = loc.repo.ref(loc.notes_ref)
    tree = loc.repo.commit(old).tree if old else None
    changes: dict[str, bytes | None] = {}
    touched: list[str] = []
    for commit, added in new.items():
        places = list(_places(loc, tree, commit)) if tree else []
        there = [loc.repo.blob(blob) for _, blob in places]
        text = b"".join(line + b"\n" for line in _merged([*there, "\n".join(added).encode()]))
        if there == [text] or not text:
            continue
        touched.append(commit)
        changes |= dict.fromkeys(path for path, _ in places[1:])
        changes[places[0][0] if places else f"{commit[:_FANOUT]}/{commit[_FANOUT:]}"] = text
    if not touched:
        return evidence.Addition(old, old, ()), []
    spliced = trees.splice(loc.repo.read_tree, tree, changes)
    who = loc.repo.person()
    message = f"Note evaluations of {', '.join(commit[:12] for commit in touched[:3])}\n"
    made = objects.make_commit(spliced.tree, [old] if old else [], who, who, message)
    return evidence.Addition(old, made.id, (*spliced.objects, made)), touched


def _merged(notes: Iterator[bytes] | Sequence[bytes]) -> list[bytes]:
    return sorted({line for note in notes for line in note.split(b"\n") if line})


def _places(loc: Location, tree: str, commit: str, above: str = "") -> Iterator[tuple[str, str]]:
    """Yield path and blob of every note on a commit: git may have spread them over folders, to any depth."""
    folder = loc.repo.read_tree(tree)
    whole, below = folder.get(commit), folder.get(commit[:_FANOUT])
    if whole is not None and whole.is_file:
        yield f"{above}{commit}", whole.id
    if below is not None and below.is_tree:
        yield from _places(loc, below.id, commit[_FANOUT:], f"{above}{below.name}/")


def _tell_git_how_to_merge(loc: Location) -> None:
    key = f"notes.{loc.notes_ref.removeprefix(_NOTES)}.mergeStrategy"
    if gitcli.attempt(loc.repo.place, ["config", "--get", key]).code:
        # a convenience for people: where the configuration cannot be written, the notes are there anyway
        gitcli.attempt(loc.repo.place, ["config", key, "cat_sort_uniq"])
