"""xp.toml: what makes a directory a store. Read strictly, written for people."""

from __future__ import annotations

import json
import math
import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from xpstore.errors import FormatError, InvalidNameError
from xpstore.names import check_name
from xpstore.settings import (
    DuplicateSettings,
    EnvironmentSettings,
    EvaluationSettings,
    GatePolicy,
    Limits,
    LlmSettings,
    SignSettings,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from _typeshed import DataclassInstance
    from pydantic import JsonValue

FORMAT = 1
FILE_NAME = "xp.toml"

# Reads an older format as the next newer one; the key is the older format's number.
UPCASTERS: dict[int, Callable[[dict[str, object]], dict[str, object]]] = {}

_ID = re.compile(r"[0-9A-Za-z_-]{1,64}")
_BRANCH = re.compile(
    r"(?!.*(?:[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|$)))(?![-/.@]$|[-/.]|HEAD$).*[^/.]",
    re.DOTALL,
)
_ANY = re.compile(".*", re.DOTALL)
_BARE_KEY = re.compile("[0-9A-Za-z_-]+")
OPTIONS_DEPTH = 16
"""Levels of tables and lists that the options of an environment may have."""
_KEY_HINTS = {
    "id": "every store has an id, written by `xp init`; restore the line from git",
    "name": "a name is text; the first store of a repository has none",
    "main": "write the name of a branch, without `refs/heads/`",
}


_COMMENTS = {
    "format": "# The layout of the store. Programs that are too old refuse it.",
    "id": "# Names this store in plans and evidence. Copies keep it; do not edit.",
    "name": "# Part of this store's branch names, because it shares the repository with another store.",
    "main": "# The branch that agents read, and where candidates land.",
}


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """The settings of one store; a table of xp.toml is a dataclass whose fields all have defaults."""

    format: int
    id: str
    name: str = ""
    """Part of every ref of a second store in the same repository; empty for the first."""
    main: str = "main"
    """The branch that agents read and people review."""
    limits: Limits = field(default_factory=Limits)
    environment: EnvironmentSettings = field(default_factory=EnvironmentSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    gate: GatePolicy = field(default_factory=GatePolicy)
    duplicates: DuplicateSettings = field(default_factory=DuplicateSettings)
    sign: SignSettings = field(default_factory=SignSettings)
    llm: LlmSettings = field(default_factory=LlmSettings)


Table = TypeVar("Table", bound="DataclassInstance")


def parse_config(text: str, where: str) -> StoreConfig:
    """Read xp.toml. Raises FormatError: bad TOML, a newer format, unknown keys, wrong types."""
    return _config(_load(text, where), where)


def parse_template(text: str, where: str) -> StoreConfig:
    """Read the xp.toml of a folder that is to become a store: `id` (then "0") and `format` may be missing.

    Raises FormatError as `parse_config`.
    """
    return _config({"format": FORMAT, "id": "0", **_load(text, where)}, where)


def parse_llm(lines: Sequence[str], where: str) -> dict[str, object]:
    """Read lines as they stand below `[llm]`; return what they say, by key. Raises FormatError.

    The value is TOML, or text: `timeout = 300`, `embedding_model=small`.
    """
    said: dict[str, object] = {}
    for line in lines:
        key, _, value = (part.strip() for part in line.partition("="))
        try:
            said[key] = tomllib.loads(f"value = {value}")["value"]
        except (ValueError, RecursionError):
            said[key] = value
    table = _table(LlmSettings, {"llm": said}, "llm", where)
    return {key: getattr(table, key) for key in said}


def adapted(text: str, config: StoreConfig) -> str:
    """Return an xp.toml that says `config`: the text with what it lacks put in front, else one written anew.

    So what people wrote into a template stays, comments included.
    """
    known = _load(text, FILE_NAME)
    head = "\n".join(_head({**_top(config), **dict.fromkeys(known)}))
    draft = f"{head}\n\n{text.strip()}\n" if text.strip() else ""
    return draft if draft and _says(draft, config) else render_config(config)


def _says(text: str, config: StoreConfig) -> bool:
    try:
        return parse_config(text, FILE_NAME) == config
    except FormatError:  # the text has an id already, of the store that it was copied from
        return False


def _load(text: str, where: str) -> dict[str, object]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # tomllib also lets errors of numbers and dates through
        why = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise FormatError(f"{where}: {why}", hint="xp.toml is written in TOML: https://toml.io") from error


def _config(raw: dict[str, object], where: str) -> StoreConfig:
    data = _current(raw, where)
    _refuse_unknown(data, [f.name for f in fields(StoreConfig)], where)
    return StoreConfig(
        format=FORMAT,
        id=_checked(data, "id", "", _ID, where),
        name=_store_name(data, where),
        main=_checked(data, "main", "main", _BRANCH, where),
        limits=_table(Limits, data, "limits", where),
        environment=_environment(data, where),
        evaluation=_table(EvaluationSettings, data, "evaluation", where),
        gate=_table(GatePolicy, data, "gate", where),
        duplicates=_table(DuplicateSettings, data, "duplicates", where),
        sign=_table(SignSettings, data, "sign", where),
        llm=_table(LlmSettings, data, "llm", where),
    )


def render_config(config: StoreConfig) -> str:
    """Return the xp.toml of these settings, with a comment for each."""
    lines = _head(_top(config))
    lines += _table_lines("limits", config.limits)
    lines += _environment_lines(config.environment)
    lines += _table_lines("evaluation", config.evaluation)
    lines += _table_lines("gate", config.gate)
    lines += _table_lines("duplicates", config.duplicates)
    lines += _table_lines("sign", config.sign) if config.sign != SignSettings() else []
    lines += _table_lines("llm", config.llm) if config.llm != LlmSettings() else []
    return "\n".join(lines) + "\n"


def _top(config: StoreConfig) -> dict[str, object]:
    return {"format": config.format, "id": config.id, "name": config.name or None, "main": config.main}


def _head(values: Mapping[str, object]) -> list[str]:
    """Return the lines of the keys that stand before all tables; None = leave it out."""
    lines = [
        "# This directory is an experience store: Markdown that agents read, one git commit per lesson.",
        "",
    ]
    for key, comment in _COMMENTS.items():
        if values[key] is not None:
            lines += [comment, f"{key} = {_literal(values[key])}"]
    return lines


def _current(data: dict[str, object], where: str) -> dict[str, object]:
    version = data.get("format")
    if type(version) is not int or version < 0:
        raise FormatError(f"{where}: `format` must be a whole number", hint=f"write `format = {FORMAT}`")
    if version > FORMAT:
        raise FormatError(
            f"{where}: format {version} is newer than this program, which reads up to {FORMAT}",
            hint="upgrade xpstore",
        )
    while version < FORMAT:
        if version not in UPCASTERS:
            raise FormatError(f"{where}: format {version} is unknown", hint=f"write `format = {FORMAT}`")
        data = UPCASTERS[version](data)
        version += 1
    return data


def _refuse_unknown(data: Mapping[str, object], known: list[str], where: str, table: str = "") -> None:
    for key in data:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f"did you mean `{close[0]}`?" if close else f"known keys: {', '.join(known)}"
            raise FormatError(f"{where}: unknown key `{table}{key}`", hint=hint)


def _checked(data: Mapping[str, object], key: str, default: str, pattern: re.Pattern[str], where: str) -> str:
    value = data.get(key, default)
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise FormatError(f"{where}: `{key}` is {value!r}", hint=_KEY_HINTS[key])
    return value


def _store_name(data: Mapping[str, object], where: str) -> str:
    value = _checked(data, "name", "", _ANY, where)
    try:
        return check_name(value) if value else ""
    except InvalidNameError as error:
        raise FormatError(f"{where}: `name`: {error.message}", hint=error.hint) from error


def _table(kind: type[Table], data: Mapping[str, object], name: str, where: str) -> Table:
    """Read one table into its dataclass; a value has the type of its default, numbers have their bounds."""
    table = _plain_table(data, name, where)
    default = kind()
    rules = {f.name: f.metadata for f in fields(kind)}
    _refuse_unknown(table, list(rules), where, f"{name}.")
    values: dict[str, object] = {}
    for key, value in table.items():
        usual, rule = getattr(default, key), rules[key]
        # 1 is a number as good as 1.0
        values[key] = float(value) if type(usual) is float and type(value) is int else value
        if choices := rule.get("choices"):
            wish = "" if value in choices else f"one of {', '.join(choices)}"
        else:
            wish = _unlike(values[key], usual, rule.get("least", 0), rule.get("most", math.inf))
        if wish:
            raise FormatError(
                f"{where}: `{name}.{key}` is {value!r}, it must be {wish}",
                hint=f"the default is {_literal(usual)}",
            )
    return replace(default, **values)


def _unlike(value: object, usual: object, least: float, most: float) -> str:
    """Return what a value must be, where it is not of the type of the usual one or out of bounds; else ""."""
    kind = "a whole number" if type(usual) is int else "a number" if type(usual) is float else ""
    if type(value) is not type(usual):
        return f"{kind}, {least} or more" if kind else f"of type {type(usual).__name__}"
    if not isinstance(value, (int, float)) or least <= value <= most:
        return ""
    return f"{kind}, {most} or less" if value > most else f"{kind}, {least} or more"


def _plain_table(data: Mapping[str, object], name: str, where: str) -> dict[str, object]:
    table = data.get(name.rpartition(".")[2], {})
    if not isinstance(table, dict):
        raise FormatError(f"{where}: `{name}` is not a table", hint=f"write `[{name}]` and its keys below")
    return table


def _environment(data: Mapping[str, object], where: str) -> EnvironmentSettings:
    table = _plain_table(data, "environment", where)
    _refuse_unknown(table, [f.name for f in fields(EnvironmentSettings)], where, "environment.")
    name = table.get("name", "")
    if not isinstance(name, str):
        raise FormatError(f"{where}: `environment.name` is {name!r}", hint="a name is text")
    options = _plain_table(table, "environment.options", where)
    return EnvironmentSettings(
        name, {k: _json(v, f"environment.options.{k}", where) for k, v in options.items()}
    )


def _json(value: object, key: str, where: str, depth: int = 1) -> JsonValue:
    """Return a value that JSON has too. Raises FormatError for dates, infinities and what is too deep."""
    if isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, (list, dict)) and depth > OPTIONS_DEPTH:
        raise FormatError(f"{where}: `{key}` is too deeply nested", hint=f"at most {OPTIONS_DEPTH} levels")
    if isinstance(value, list):
        return [_json(item, key, where, depth + 1) for item in value]
    if isinstance(value, dict):
        return {name: _json(item, f"{key}.{name}", where, depth + 1) for name, item in value.items()}
    raise FormatError(f"{where}: `{key}` is {value}, which JSON does not have", hint="write it as text")


def _environment_lines(environment: EnvironmentSettings) -> list[str]:
    if environment == EnvironmentSettings():
        return []
    lines = ["", f"# {EnvironmentSettings.__doc__}", "[environment]"]
    lines += ["# An environment that is installed.", f"name = {_literal(environment.name)}"]
    if environment.options:
        lines += ["", "# What only this environment knows.", "[environment.options]"]
        lines += [f"{_key(name)} = {_inline(value)}" for name, value in environment.options.items()]
    return lines


def _inline(value: JsonValue) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(name)} = {_inline(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return _literal(value)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _literal(name)


def _table_lines(name: str, table: DataclassInstance) -> list[str]:
    summary = (type(table).__doc__ or "").split("\n", 1)[0]
    keys = [f"{f.name} = {_literal(getattr(table, f.name))}  # {f.metadata['help']}" for f in fields(table)]
    return ["", f"# {summary}", f"[{name}]", *keys]


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
