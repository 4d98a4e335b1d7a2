"""Scores from beside the recordings: a CSV or JSON file that names trajectories by their ids.

CSV has a line of headings with one of IDS (else the first column counts) and one of MARKS, or no headings and
two columns. JSON is `{id: score}`, `{id: {"score": …}}`, a list of objects with such keys, or a report of
SWE-bench (`resolved_ids`, `unresolved_ids`). A score is a number from 0 to 1, true or false: one of 87, which
may be of 100, would count as passed, and so would 12.
"""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trainer.importers.scoring import reward_evaluation
from trainer.importers.source import Problem
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from trainer.domain import Rollout, RubricEvaluation
    from trainer.importers.form import Found

SOURCE = "scores"
HARBOR = "Harbor"
_REWARD = 64  # bytes of a file with one number
IDS = ("trajectory_id", "session_id", "instance_id", "id", "name", "file")
MARKS = ("score", "reward", "passed", "resolved")
MAX_BYTES = 64 << 20
_SUFFIXES = (".trajectory.json", ".traj.json", ".jsonl", ".ndjson", ".json", ".traj", ".eval")
_WORDS = {"true": True, "yes": True, "false": False, "no": False}
_RESOLVED = (("resolved_ids", True), ("unresolved_ids", False))
_HINT = 'a CSV with the headings id,score, or JSON like {"id": 0.5}'


@dataclass(frozen=True, slots=True)
class Score:
    """One line of the file."""

    value: float
    passed: bool | None
    line: int


@dataclass(slots=True)
class Scores:
    """The scores of a file, and who was given which."""

    path: str
    problems: list[Problem]
    """What is wrong with the file: lines that have no score, ids that come twice."""
    _scores: dict[str, Score]
    _given: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Scores:
        """Read a file. Raises UsageError where it cannot be read or is of neither form."""
        rows = list(_rows(path))
        problems: list[Problem] = []
        scores: dict[str, Score] = {}
        doubles: set[str] = set()
        for line, key, value in rows:
            score = _score(value, line)
            if isinstance(score, Score) and not 0 <= score.value <= 1:
                score = f"{score.value:g} is not between 0 and 1"
            if isinstance(score, str):
                problems.append(Problem(str(path), line, f"{key!r:.100}: {score}", "score"))
            elif key in scores and (scores[key].value, scores[key].passed) != (score.value, score.passed):
                doubles.add(key)
                why = f"{key!r:.100} has another score in line {scores[key].line}: neither is taken"
                problems.append(Problem(str(path), line, why, "score"))
            else:
                scores.setdefault(key, score)
        return cls(str(path), problems, {key: s for key, s in scores.items() if key not in doubles})

    def scored(self, found: Found, path: str, line: int, *, only: bool) -> tuple[Rollout, Problem | None]:
        """Return the rollout with its score, and what is to be told: a score fits one rollout only.

        It is found by an id of the rollout, by `FILE:LINE`, or by the file where it is the `only` one in it.
        """
        key = next((k for k in (*found.keys, *_file_keys(path, line, only=only)) if k in self._scores), None)
        if key is None:
            return found.rollout, None
        here = f"{path}:{line}"
        first = self._given.setdefault(key, here)
        if first != here:
            why = f"the score of {key!r:.100} was given to {first} already: this one has none"
            return found.rollout, Problem(path, line, why, "score")
        score = self._scores[key]
        evaluation = reward_evaluation(score.value, SOURCE, passed=score.passed)
        return found.rollout.model_copy(update={"evaluation": evaluation}), None

    def unused(self) -> Iterator[Problem]:
        """Yield the scores that no rollout was given."""
        for key, score in self._scores.items():
            if key not in self._given:
                yield Problem(self.path, score.line, f"no rollout has the id {key!r:.100}", "score")


def harbor_reward(path: str) -> RubricEvaluation | None:
    """Return the reward that Harbor writes beside a trajectory; None where there is none.

    The trial's folder has `agent/trajectory.json` and `verifier/reward.txt`, one number.
    """
    place = Path(path)
    if place.name != "trajectory.json" or place.parent.name != "agent":
        return None
    try:
        with place.parent.parent.joinpath("verifier", "reward.txt").open("rb") as stream:
            score = _score(stream.read(_REWARD).decode().strip(), 0)
    except (OSError, UnicodeDecodeError):
        return None
    return None if isinstance(score, str) else reward_evaluation(score.value, HARBOR)


def _file_keys(path: str, line: int, *, only: bool) -> Iterator[str]:
    name = Path(path).name
    yield f"{name}:{line}"
    if only:
        yield path
        yield name
        yield from (name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix))
        if Path(path).parent.name == "agent":  # Harbor: <trial>/agent/trajectory.json
            yield Path(path).parent.parent.name


def _rows(path: Path) -> Iterator[tuple[int, str, JsonValue]]:
    """Yield (line, id, score as it stands there). Raises UsageError."""
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", hint=_HINT) from None
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8", hint=_HINT) from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"{path} has more than {MAX_BYTES >> 20} MB", hint=_HINT)
    if text.lstrip()[:1] in {"{", "["}:
        yield from _json_rows(path, text)
    else:
        yield from _csv_rows(path, text)


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, str, JsonValue]]:
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        heading = [cell.strip().lower() for cell in next(reader, [])]
        columns = [
            next((heading.index(name) for name in names if name in heading), None) for names in (IDS, MARKS)
        ]
        key_at, mark_at = columns[0] or 0, columns[1]
        if mark_at is None:
            if len(heading) != 2 or isinstance(_score(heading[1], 1), str):
                raise UsageError(f"{path} has no column with scores", hint=_HINT)
            mark_at = 1
            reader = csv.reader(io.StringIO(text, newline=""))  # there are no headings
        for row in reader:
            if any(cell.strip() for cell in row):
                cells = [*row, *[""] * len(heading)]
                yield reader.line_num, cells[key_at].strip(), cells[mark_at].strip()
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num}: not CSV: {error}", hint=_HINT) from None


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, str, JsonValue]]:
    try:
        value: JsonValue = json.loads(text, object_pairs_hook=_Object)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path} is not JSON: {error!s:.200}", hint=_HINT) from None
    except (ValueError, RecursionError):
        why = "it is nested too deep, or a number in it has thousands of digits"
        raise UsageError(f"{path} is not JSON that can be read: {why}", hint=_HINT) from None
    if isinstance(value, dict) and isinstance(value.get("resolved_ids"), list):
        for name, passed in _RESOLVED:
            ids = value.get(name)
            yield from ((0, str(key), passed) for key in (ids if isinstance(ids, list) else []))
    elif isinstance(value, _Object):
        for key, item in value.pairs:
            yield 0, key, _of(item, MARKS) if isinstance(item, dict) else item
    else:
        for item in value if isinstance(value, list) else []:
            if isinstance(item, dict):
                yield 0, str(_of(item, IDS) or ""), _of(item, MARKS)
            else:
                yield 0, "", item


class _Object(dict[str, "JsonValue"]):
    """A JSON object that knows of keys that come twice."""

    def __init__(self, pairs: list[tuple[str, JsonValue]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _of(item: dict[str, JsonValue], names: tuple[str, ...]) -> JsonValue:
    return next((item[name] for name in names if item.get(name) is not None), None)


def _score(value: JsonValue, line: int) -> Score | str:
    """Return a score, or why it is none."""
    if isinstance(value, str):
        word = value.lower()
        try:
            value = _WORDS[word] if word in _WORDS else float(value)
        except ValueError:
            return f"{value!r:.40} is not a number" if value else "there is no score"
    if isinstance(value, bool):
        return Score(float(value), value, line)
    if not isinstance(value, int | float):
        return "there is no score" if value is None else "the score is not a number"
    try:
        number = float(value)
    except OverflowError:
        return "the score is too large"
    return Score(number, None, line) if math.isfinite(number) else f"{number} is not a number"
