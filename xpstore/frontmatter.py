"""YAML front matter: the block between `---` lines at the top of a file. The only user of PyYAML.

Values are what JSON can hold. Plain words keep the meaning a person expects: dates, `yes`, `007` and `1:30`
stay text. Edits replace the lines of a key and leave every other byte alone.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import yaml

from xpstore.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_DEPTH = 32
MAX_NODES = 10_000  # aliases count as what they stand for, so an alias bomb ends here

_HINT = "front matter is `key: value` lines between two lines `---`; quote values with `: ` or `#` in them"
_LOADER = cast("type[yaml.SafeLoader]", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
_OPEN = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)
_KEY_LINE = re.compile(r"^(?:[^\s#>|\-`*][^\n]*?:(?:[ \t\r]|$)|\{|<{7} )", re.MULTILINE)
_ONLY_COMMENTS = re.compile(r"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*(?:#[^\n]*)?")
_COMMENT = re.compile(r"#[^\n]*(?<!\s)")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,300})")
_FLOAT = re.compile(r"[-+]?[0-9]{1,40}\.[0-9]{0,40}(?:[eE][-+][0-9]{1,3})?")
_YAML_BREAKS = re.compile("[\r\x85\u2028\u2029\ufeff]")  # YAML would read these as line breaks or drop them
_BLOCK_TEXT = re.compile("[^\\s#](?:[^\r\x85\u2028\u2029\ufeff]*\\S)?\n?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_TEXT_TAGS = frozenset({"tag:yaml.org,2002:str", "!"})
_PLAIN = frozenset({None, ""})  # the style of an unquoted scalar, with and without libyaml


@dataclass(frozen=True, slots=True)
class Entry:
    """A top-level key: its lines are source[start:end]; its value, without comment, is source[at:to]."""

    key: str
    start: int
    end: int
    at: int
    to: int


class _Dumper(yaml.SafeDumper):
    """Block style, long lines, literal blocks for text of several lines, no aliases."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML's signature
        return True


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = None
    if "\n" in value or _YAML_BREAKS.search(value):
        style = "|" if _BLOCK_TEXT.fullmatch(value) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _represent_text)


def locate(text: str, where: str = "") -> tuple[int, int, int] | None:
    """Return (start, end of the YAML source, start of the body), or None where there is no front matter.

    A file that begins with a rule (`---`) followed by prose has none. Raises DocumentError for a block
    that begins like front matter and is never closed.
    """
    opening = _OPEN.match(text)
    if not opening:
        return None
    start = opening.end()
    closing = _CLOSE.search(text, start)
    if not closing:
        if _KEY_LINE.match(text, start):
            raise DocumentError(f"{where or 'file'}: front matter is not closed", hint=_HINT)
        return None
    source = text[start : closing.start()]
    if not _KEY_LINE.search(source) and not _ONLY_COMMENTS.fullmatch(source.replace("\r", "")):
        return None
    return start, closing.start(), closing.end()


def split(text: str, where: str = "") -> tuple[str | None, str]:
    """Return (YAML source or None, body); see `locate`."""
    found = locate(text, where)
    return (None, text) if found is None else (text[found[0] : found[1]], text[found[2] :])


def load(source: str, where: str = "") -> dict[str, object]:
    """Return the mapping. Raises DocumentError: bad YAML, duplicate keys, tags, too deep or too large."""
    if not source.strip():
        return {}
    try:
        value = _Builder(where).build(yaml.parse(_encodable(source, where), Loader=_LOADER))
    except yaml.YAMLError as error:
        raise DocumentError(f"{where or 'file'}: front matter: {_reason(error)}", hint=_HINT) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise DocumentError(f"{where or 'file'}: front matter is not a mapping", hint=_HINT)
    return value


def dump(fields: Mapping[str, object]) -> str:
    """Return YAML lines for the fields, in their order. Raises DocumentError for what is not JSON-like."""
    if not fields:
        return ""
    try:
        return yaml.dump(
            dict(fields),
            Dumper=_Dumper,
            allow_unicode=True,
            sort_keys=False,
            width=10**6,
            default_flow_style=False,
        )
    except yaml.YAMLError as error:
        raise DocumentError(f"front matter cannot hold this value: {_reason(error)}") from error


def entries(source: str, where: str = "") -> list[Entry] | None:
    """Return the top-level keys of a block mapping in file order; None for `{…}`. Raises DocumentError."""
    load(source, where)
    found: list[Entry] = []
    depth = at = last = 0
    key: yaml.ScalarEvent | None = None
    for event in yaml.parse(source, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            if depth == 0 and event.flow_style:
                return None
            depth += 1
            at = _start(event).index if depth == 2 else at
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif depth == 1 and key is None and isinstance(event, yaml.ScalarEvent):
            key, last = event, _stop(event)
            continue
        elif depth == 1:
            at = _start(event).index
        last = max(last, _text_end(event, source))
        if depth == 1 and key is not None:
            found.append(_entry(source, key, at, last))
            key = None
    return found


def comments(source: str, where: str = "") -> list[tuple[int, int]]:
    """Return where the comments are, from `#` to the end of the line. Raises DocumentError for bad YAML."""
    found: list[tuple[int, int]] = []
    at = 0
    try:
        for token in yaml.scan(source, Loader=_LOADER):
            start, end = token.start_mark.index, token.end_mark.index
            found += _comments_in(source, at, start)
            if isinstance(token, yaml.ScalarToken) and token.style in {"|", ">"}:  # beside its indicator
                found += _comments_in(source, start, source.find("\n", start, end))
            at = max(at, end)
    except yaml.YAMLError as error:
        raise DocumentError(f"{where or 'file'}: front matter: {_reason(error)}", hint=_HINT) from error
    return [*found, *_comments_in(source, at, len(source))]


def _comments_in(source: str, start: int, end: int) -> list[tuple[int, int]]:
    return [(start + one.start(), start + one.end()) for one in _COMMENT.finditer(source[start:end])]


def _text_end(event: yaml.Event, source: str) -> int:
    """Return where the event's own text ends: a block collection ends only where the next key begins."""
    end = _stop(event)
    if isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
        return end
    return end if isinstance(event, yaml.CollectionEndEvent) and source[end - 1 : end] in ("]", "}") else 0


def _start(event: yaml.Event) -> yaml.Mark:
    return cast("yaml.Mark", event.start_mark)  # None only for events that no parser made


def _stop(event: yaml.Event) -> int:
    return cast("yaml.Mark", event.end_mark).index


def splice(source: str, updates: Mapping[str, object | None]) -> str:
    """Return the source with these keys replaced, appended, or removed (None); all else byte for byte.

    A `{…}` mapping, and one where another key refers to a removed anchor, is written anew.
    """
    fields = {**load(source), **updates}
    wanted = {key: value for key, value in fields.items() if value is not None or key not in updates}
    places = entries(source)
    if places is None:
        return dump(wanted)
    result = _spliced(source, places, updates)
    try:
        is_whole = load(result).keys() == wanted.keys()
    except DocumentError:
        is_whole = False
    return result if is_whole else dump(wanted)


def _spliced(source: str, places: list[Entry], updates: Mapping[str, object | None]) -> str:
    newline = "\r\n" if "\r\n" in source else "\n"
    result = source
    for place in reversed(places):
        if place.key in updates:
            edited = _edited(source, place, updates[place.key], newline)
            result = result[: place.start] + edited + result[place.end :]
    known = {place.key for place in places}
    added = {key: value for key, value in updates.items() if key not in known and value is not None}
    if not added:
        return result
    indent = _indent(source[places[0].start :]) if places else ""
    if result and not result.endswith("\n"):
        result += newline
    return result + _indented(dump(added), indent).replace("\n", newline)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def _indented(block: str, indent: str) -> str:
    return "".join(indent + line + "\n" if line else "\n" for line in block[:-1].split("\n"))


def _edited(source: str, place: Entry, value: object | None, newline: str) -> str:
    if value is None:
        return ""
    lines = dump({place.key: value})
    old = source[place.start : place.end]
    if lines.count("\n") == 1 and "\n" not in old.rstrip("\r\n") and place.at < place.to:
        before_value = len(dump({place.key: 0})) - 2
        return source[place.start : place.at] + lines[before_value:-1] + source[place.to : place.end]
    return _indented(lines, _indent(old)).replace("\n", newline)


def _entry(source: str, key: yaml.ScalarEvent, at: int, last: int) -> Entry:
    start = source.rfind("\n", 0, _start(key).index) + 1
    if source[last - 1 : last] == "\n":  # a block scalar ends behind its last line break
        return Entry(key.value, start, last, at, last)
    line_end = source.find("\n", last)
    return Entry(key.value, start, line_end + 1 if line_end >= 0 else len(source), at, last)


def _encodable(source: str, where: str) -> str:
    try:
        source.encode()
    except UnicodeEncodeError as error:
        raise DocumentError(f"{where or 'file'}: front matter is not valid Unicode", hint=_HINT) from error
    return source


def _reason(error: yaml.YAMLError) -> str:
    line: object = getattr(getattr(error, "problem_mark", None), "line", None)
    problem = str(getattr(error, "problem", None) or str(error).split("\n", 1)[0])
    return f"line {line + 2}: {problem}" if isinstance(line, int) else problem


class _Builder:
    """Builds values from parser events; recursion is bounded before anything is nested too deep."""

    def __init__(self, where: str) -> None:
        self.where = where or "file"
        self.anchors: dict[str, tuple[object, int]] = {}
        self.nodes = 0

    def build(self, events: Iterator[yaml.Event]) -> object:
        value: object = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.NodeEvent):
                value = self._node(event, events, 0)
                documents += 1
        if documents > 1:
            raise self._error("more than one YAML document")
        return value

    def _node(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> object:
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event)
        before = self.nodes
        self._count(1)
        if depth > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH}", event)
        value: object
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(events, depth)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = self._sequence(events, depth)
        else:
            value = self._scalar(cast("yaml.ScalarEvent", event))
        anchor = cast("str | None", getattr(event, "anchor", None))
        if anchor:
            self.anchors[anchor] = (value, self.nodes - before)
        return value

    def _sequence(self, events: Iterator[yaml.Event], depth: int) -> list[object]:
        result: list[object] = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            result.append(self._node(item, events, depth + 1))
        return result

    def _mapping(self, events: Iterator[yaml.Event], depth: int) -> dict[str, object]:
        result: dict[str, object] = {}
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            if not isinstance(key, yaml.ScalarEvent):
                raise self._error("a key is not plain text", key)
            if key.value in result:
                raise self._error(f"duplicate key {key.value!r}", key)
            result[key.value] = self._node(next(events), events, depth + 1)
        return result

    def _scalar(self, event: yaml.ScalarEvent) -> object:
        text: str = event.value
        if event.tag in _TEXT_TAGS or (event.tag is None and event.style not in _PLAIN):
            return text
        if event.tag is not None:
            raise self._error(f"tag {event.tag} is not allowed", event)
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text) and math.isfinite(float(text)):
            return float(text)
        return text

    def _alias(self, event: yaml.AliasEvent) -> object:
        if event.anchor not in self.anchors:
            raise self._error(f"alias *{event.anchor} stands for nothing", event)
        value, nodes = self.anchors[event.anchor]
        self._count(nodes)
        return value

    def _count(self, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > MAX_NODES:
            raise self._error(f"more than {MAX_NODES} values")

    def _error(self, problem: str, event: yaml.Event | None = None) -> DocumentError:
        line = f"line {_start(event).line + 2}: " if event is not None else ""
        return DocumentError(f"{self.where}: front matter: {line}{problem}", hint=_HINT)
