"""Suites of cases: JSON lines in `cases/<suite>.jsonl`, read strictly, kept apart.

`train` teaches, `gate` decides, `test` is only reported; a case in two of them would leak.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

from pydantic import ValidationError

from trainer.copies import near_copy
from trainer.domain import Case
from xpstore.errors import UsageError
from xpstore.hashing import canonical_json, content_id
from xpstore.layout import CASES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from xpstore.location import Location

SUITES = ("train", "gate", "test")
LABELS = frozenset({"expected_actions"})
"""Keys of a case's input that say what a perfect agent does: no part of the task itself."""


def read_suite(data: bytes, where: str) -> list[Case]:
    """Return the cases of a JSONL file, one RFC Case per line; empty lines are passed over.

    Raises UsageError, with file and line, for anything else, for two cases of one name, and for two equal
    tasks.
    """
    cases: list[Case] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not line.strip():
            continue
        case = _case(line, f"{where}:{number}")
        for key, what in ((case.name, f"is called {case.name!r}"), (task_key(case), "is the same task")):
            if key in seen:
                raise UsageError(
                    f"{where}:{number}: the case of line {seen[key]} {what} too", hint="keep it once"
                )
            seen[key] = number
        cases.append(case)
    return cases


def write_suite(cases: Sequence[Case]) -> bytes:
    """Return the JSONL file of some cases; `read_suite` reads it back."""
    return b"".join(canonical_json(case.model_dump(mode="json")) + b"\n" for case in cases)


def suite_digest(cases: Sequence[Case]) -> str:
    """Return the id of a suite: hash of the ids of its cases, whatever their order."""
    return content_id(sorted(case.id for case in cases))


def chosen(cases: Sequence[Case], names: Sequence[str], suite: str) -> Sequence[Case]:
    """Return the cases of these names, in the order of the suite; all of them where none is named.

    Raises UsageError for a name that no case of the suite has.
    """
    known = [case.name for case in cases]
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, 1)
            raise UsageError(
                f"suite {suite!r} has no case {name!r}",
                hint=f"did you mean {close[0]!r}?" if close else f"its first one is {known[0]!r}",
            )
    return [case for case in cases if case.name in names] if names else cases


def task_key(case: Case) -> str:
    """Return what makes two cases one task: signature and input without labels; the name of one without."""
    task = {key: value for key, value in case.input.items() if key not in LABELS}
    return content_id([case.task_signature, task] if task else [case.task_signature, {}, case.name])


def check_apart(suites: Mapping[str, Sequence[Case]]) -> None:
    """Raise UsageError where a case is in two suites: by its name, as the same task, or as a near copy."""
    seen: dict[str, tuple[str, str]] = {}
    for suite, cases in suites.items():
        for case in cases:
            for key in (case.name, task_key(case)):
                other, name = seen.get(key, (suite, case.name))
                if other != suite:
                    raise UsageError(
                        f"case {case.name!r} of suite {suite!r} is in suite {other!r} too, as {name!r}",
                        hint="take it out of one: what teaches must not be what is measured",
                    )
                seen[key] = (suite, case.name)
    if copy := near_copy(suites):
        (first, one), (second, other), share = copy
        raise UsageError(
            f"case {other!r} of suite {second!r} is a near copy of case {one!r} of suite {first!r}:"
            f" {share:.0%} of their words are the same",
            hint="take one out: what teaches must not be what is measured",
        )


def load_suites(location: Location, ref: str, *needed: str) -> dict[str, list[Case]]:
    """Return suite → cases as they stand at a ref: train, gate and test, and those that are needed.

    Raises UsageError for a needed one that is missing or empty, for a line that is no case, and for a leak.
    """
    commit = location.resolve(ref)
    here = location.at(commit)
    tree = here.repo.commit(commit).tree
    suites: dict[str, list[Case]] = {}
    for name in dict.fromkeys((*SUITES, *needed)):
        path = here.in_tree(f"{CASES}/{name}.jsonl")
        entry = here.repo.entry(tree, path)
        if entry is not None and entry.is_file:
            suites[name] = read_suite(here.repo.blob(entry.id), path)
        if name in needed and not suites.get(name):
            known = ", ".join(suites) or "none"
            raise UsageError(
                f"there are no cases in {path} at {ref}",
                hint=f"write one case per line and commit the file; suites with cases: {known}",
            )
    check_apart(suites)
    return suites


def _case(line: bytes, where: str) -> Case:
    try:
        value = json.loads(line.decode(), parse_constant=_no_number, object_pairs_hook=_once)
        case = Case.model_validate(value)
        canonical_json(case.model_dump(mode="json")).decode()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        at = ".".join(map(str, first["loc"])) or "case"
        raise UsageError(f"{where}: {at}: {first['msg']}", hint="every line is one case as JSON") from error
    except (ValueError, RecursionError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise UsageError(f"{where}: no JSON: {why}", hint="every line is one case as JSON") from error
    if not case.name.strip():
        raise UsageError(f"{where}: the case has no name", hint="reports say how each case came out")
    return case


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number in JSON")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(k for k in keys if keys.count(k) > 1)!r} stands there twice")
    return found
