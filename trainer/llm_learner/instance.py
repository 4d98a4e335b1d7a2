"""What of a text belongs to single cases: identifiers, names, dates, amounts. No lesson may have any of it.

A rule of the instructions is no instance, with its numbers; nor are names of tools, arguments and fields,
words of a fixed choice such as `shipped`, and small numbers. No list is complete: what tells one case from
others is looked for in the rollouts that the text was made from.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.offline.masking import is_name, words
from trainer.offline.objects import leaves
from xpstore.finding import MASK
from xpstore.redact import find_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

    from trainer.domain import Rollout

_WORD = re.compile(r"[\w.:/@#%+-]*\d[\w.:/@#%+-]*", re.ASCII)
_EDGES = ".:/+-"
_NUMBER = re.compile(r"[+-]?\d[\d.]*%?")
_SMALL = re.compile(r"\d{1,3}%?|v?\d{1,2}(?:\.\d{1,2}){0,2}|\d{1,3}-?[A-Za-z]{1,8}")
"""Counts, shares, versions, `24h`, `30-day`."""
_KNOWN = re.compile(
    r"x86_64|a(?:md|rm)64|sha-?\d+|utf-?\d+|base\d+|md5|u?int\d+|float\d+|ipv[46]|iso-?\d+|rfc-?\d+|k8s|i18n|l10n"
    r"|s3|ec2|oauth2|http/?\d(?:\.\d)?|py(?:thon)?\d(?:\.?\d+)?",
    re.IGNORECASE,
)
"""Words of the trade that are written like identifiers."""
_MONTH = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
    "|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
)
_DATE = re.compile(
    r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b|\b\d{1,2}:\d\d\b|\d+月\d+[日号]"
    rf"|\b(?:{_MONTH})\.? \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"[$€£¥]\s?(\d[\d.,]*\d|\d)|(\d[\d.,]*\d|\d)\s?(?:[$€£¥]|(?:dollars?|euros?|pounds?|yuan|usd|eur|gbp|cny)\b"
    r"|美元|欧元|元)",
    re.IGNORECASE,
)
_PERSONAL = frozenset(
    {
        "name", "firstname", "lastname", "first", "last", "surname", "street", "address", "city", "zip",
        "postcode", "email", "phone", "username", "user", "customer", "passenger", "guest", "patient",
        "person",
    }
)  # fmt: skip
"""Last words of keys, before `id`, whose values are about one person, place or thing."""
_PERSONAL_ENDS = ("人", "名", "名字", "地址", "街道", "城市", "邮箱", "电话", "用户", "客户")
_FREE = frozenset({"error", "message", "reason", "detail", "description", "note", "summary", "status"})
"""Last words of keys whose values are prose: they quote rules as often as cases."""
_WORDS = 5  # more are a sentence, and no name
_LONGEST = 80
_DIGITS = 3  # that any word may have


@dataclass(frozen=True, slots=True)
class Instances:
    """What some rollouts know of their cases."""

    rules: str = ""
    """The instructions of the rollouts."""
    names: frozenset[str] = frozenset()
    """Names of tools, arguments and fields."""
    values: frozenset[str] = frozenset()
    """Values that tell one case from others."""
    tokens: frozenset[str] = frozenset()
    """Words with digits among what was said, called and answered."""

    @classmethod
    def of(cls, rollouts: Iterable[Rollout]) -> Instances:
        """Return what these rollouts know."""
        rules: dict[str, None] = {}
        names: set[str] = set()
        values: set[str] = set()
        texts: dict[str, None] = {}
        for rollout in rollouts:
            texts[rollout.case.name] = None
            values |= set(_telling(rollout.case.input))
            names |= set(_expected(rollout.case.input.get("expected_actions")))
            for message in rollout.messages:
                (rules if message.role in {"system", "developer"} else texts)[_plain(message.text)] = None
            for part in rollout.tools:
                answer = None if part.tool_status == "error" else _json(part.tool_output)
                names |= {part.tool_name, *_keys(part.tool_input), *_keys(answer)}
                values |= {*_telling(part.tool_input), *_telling(answer)}
                texts[_plain(part.tool_output)] = None
                texts[_plain(json.dumps(part.tool_input, ensure_ascii=False))] = None
        tokens = frozenset(word for text in texts for word in _words(text))
        return cls("\n".join(rules), frozenset(names), frozenset(values - names), tokens)

    def in_text(self, text: str) -> list[str]:
        """Return what of a text belongs to single cases, each once; empty for a text that is fit for all.

        Secrets and personal data, which have a form of their own, are not among them (xpstore/redact.py).
        """
        text = _plain(text)
        for secret in reversed(find_secrets(text)):  # reported by who may not repeat them
            text = f"{text[: secret.start]} {text[secret.end :]}"
        found = [match[0] for match in MASK.finditer(text)]
        found += [match[0] for match in _DATE.finditer(text)]
        found += [m[0] for m in _AMOUNT.finditer(text) if not _stands_in(m[1] or m[2], self.rules)]
        found += [word for word in _words(text) if self._tells(word)]
        found += [value for value in sorted(self.values) if _stands_in(value, text)]
        return list(dict.fromkeys(found))

    def _tells(self, word: str) -> bool:
        """Say whether a word with digits is an identifier, or a number that no rule has."""
        if word in self.names or _SMALL.fullmatch(word) or _KNOWN.fullmatch(word):
            return False
        if _NUMBER.fullmatch(word):
            return not _stands_in(word, self.rules)
        digits = sum(c.isdigit() for c in word)
        if digits > _DIGITS:
            return True
        is_marked = word != word.lower() or "#" in word or digits == _DIGITS
        return is_marked and word in self.tokens and not _stands_in(word, self.rules)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _words(text: str) -> Iterator[str]:
    """Yield the words with digits."""
    found = (match[0].strip(_EDGES) for match in _WORD.finditer(text))
    return (word for word in found if word)


def _json(text: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def _flat(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    return leaves(value) if isinstance(value, dict) else leaves({"": value})


def _keys(value: JsonValue) -> Iterator[str]:
    """Yield the names of fields; a key that is an identifier is none."""
    steps = {step for path, _ in _flat(value) for step in path.split(".")}
    return (s for s in steps if is_name(s) and sum(c.isdigit() for c in s) < _DIGITS)


def _expected(value: JsonValue) -> Iterator[str]:
    """Yield the tools and arguments of the calls that a perfect agent makes."""
    for action in value if isinstance(value, list) else ():
        if isinstance(action, dict):
            yield from _keys(action.get("arguments"))
            yield str(action.get("name"))


def _telling(value: JsonValue) -> Iterator[str]:
    """Yield the texts that are about one person, place or thing: by their key, or by how they are written."""
    for path, leaf in _flat(value):
        if not isinstance(leaf, str) or len(leaf) > _LONGEST:
            continue
        text = " ".join(_plain(leaf).split())
        key = [w.rstrip("0123456789") for w in words(path.rpartition(".")[2]) if w not in {"id", "ids"}]
        last = key[-1] if key else ""
        if last in _PERSONAL or last.endswith(_PERSONAL_ENDS):
            parts = [w for w in text.split() if w[:1].isupper() or not w.isascii()]
            yield from (v for v in (text, *parts) if _is_special(v))
        elif last not in _FREE and _is_special(text) and len(text.split()) <= _WORDS:
            is_marked = any(c.isdigit() or c == "@" for c in text) or (" " in text and not text.islower())
            yield from [text] if is_marked else []


def _is_special(value: str) -> bool:
    """Say whether a value is more than a word in lower case, or a number."""
    if not value.isascii():
        return len(value) > 1
    return len(value) > 2 and any(map(str.isalpha, value)) and not (value.isalpha() and value.islower())


def _stands_in(value: str, text: str) -> bool:
    """Say whether a value is a word, or words, of a text; scripts without spaces have no limits of words."""
    if value not in text:
        return False
    return not value.isascii() or bool(
        re.search(rf"(?<![A-Za-z0-9_]){re.escape(value)}(?![A-Za-z0-9_])", text)
    )
