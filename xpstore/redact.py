"""Masks for secrets and personal data, put in before anything is written. The door of detect-secrets.

A mask keeps what a reader needs: of what kind the value is, and where the same value comes again.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.jwt import JwtTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

from xpstore.credentials import credential_under_key, find_credentials, is_documentation, names_credential
from xpstore.finding import MASK, PERSONAL_KINDS, Finding, mask
from xpstore.personal import find_personal, is_card, names_personal, personal_under_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic import JsonValue

# The detectors whose patterns are values with a prefix of their own. Left out: entropy, keywords, IP
# addresses, and those that take plain words or parts of addresses (Artifactory, BasicAuth).
_PLUGINS = (
    ("aws-key", AWSKeyDetector()),
    ("azure-key", AzureStorageKeyDetector()),
    ("discord-token", DiscordBotTokenDetector()),
    ("github-token", GitHubTokenDetector()),
    ("gitlab-token", GitLabTokenDetector()),
    ("jwt", JwtTokenDetector()),
    ("mailchimp-key", MailchimpDetector()),
    ("openai-key", OpenAIDetector()),
    ("pypi-token", PypiTokenDetector()),
    ("sendgrid-key", SendGridDetector()),
    ("slack-token", SlackDetector()),
    ("square-secret", SquareOAuthDetector()),
    ("stripe-key", StripeDetector()),
    ("telegram-token", TelegramBotTokenDetector()),
    ("twilio-key", TwilioKeyDetector()),
)
_CACHED_LENGTH = 1 << 16  # longer texts are not remembered: the cache must stay small
_JSON_LITERAL = re.compile(r'"(?:[^"\\]|\\.)*"')
_JSON_NUMBER = re.compile(r"(?<![\w.+-])\d{3,19}(?![\w.+-])")
_SPECIAL_LENGTH = 6
_COLON = re.compile(r"\s*:")
_JSON_IN_JSON = 6  # levels of JSON text within JSON text that are looked into


def find_secrets(text: str) -> list[Finding]:
    """Return secrets and personal data in `text` by position, without overlaps.

    `Finding.personal` tells one from the other. The text is taken as it is: JSON inside it is not parsed.
    Masks and documentation keys are not found.
    """
    return list(_find_cached(text) if len(text) <= _CACHED_LENGTH else _find(text))


@lru_cache(maxsize=4096)
def _find_cached(text: str) -> tuple[Finding, ...]:
    return _find(text)


def _find(text: str) -> tuple[Finding, ...]:
    found = [*_from_plugins(text), *find_credentials(text), *find_personal(text)]
    return tuple(_united(_outside_masks(text, found)))


def _outside_masks(text: str, found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings that touch no mask: what is masked is dealt with."""
    masks = [match.span() for match in MASK.finditer(text)]
    for item in found:
        if not any(item.start < end and start < item.end for start, end in masks):
            yield item


def _from_plugins(text: str) -> Iterator[Finding]:
    for kind, plugin in _PLUGINS:
        for value in set(plugin.analyze_string(text)):
            if value and not is_documentation(value):
                for match in re.finditer(re.escape(value), text):
                    yield Finding(kind, *match.span())


def _united(found: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings by position; those that overlap become one, of the kind of the longest."""
    current: Finding | None = None
    longest = 0
    for item in sorted(found, key=lambda item: (item.start, -item.end, item.kind)):
        length = item.end - item.start
        if current is None or item.start >= current.end:
            if current:
                yield current
            current, longest = item, length
            continue
        kind = item.kind if length > longest else current.kind
        current, longest = Finding(kind, current.start, max(current.end, item.end)), max(longest, length)
    if current:
        yield current


class Redactor:
    """Masks one recording: within it the same value gets the same mask. The next recording takes a new one.

    What is masked depends on the content alone, not on the order of an object's keys. Text that was
    redacted comes back unchanged.
    """

    def __init__(self) -> None:
        self._masks: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._taken: set[str] = set()
        self._portable: list[str] = []
        self._known: re.Pattern[str] | None = None

    def redact_text(self, text: str) -> str:
        """Return the text with masks; JSON text stays JSON text. What was found before is known here."""
        redacted = self.redact_json(text)
        return redacted if isinstance(redacted, str) else text

    def redact_json(self, value: JsonValue) -> JsonValue:
        """Return the value with masks in strings, in JSON text inside of strings, in keys that are secrets.

        A secret that its surroundings gave away once (`password=…`) is masked wherever it stands in `value`.
        """
        self._reserve(value)
        while True:  # a secret found late is masked in the strings before it too
            known = len(self._portable)
            redacted = self._value(value, "", _JSON_IN_JSON)
            if len(self._portable) == known:
                return redacted

    def _reserve(self, value: JsonValue) -> None:
        """Never give away a mask that the recording came with: it may stand for another value."""
        if isinstance(value, str):
            self._taken.update(match[0] for match in MASK.finditer(value))
        elif isinstance(value, dict):
            for key, item in value.items():
                self._reserve(key)
                self._reserve(item)
        elif isinstance(value, list):
            for item in value:
                self._reserve(item)

    def _value(self, value: JsonValue, key: str, levels: int) -> JsonValue:
        if isinstance(value, str):
            return self._string(value, key, levels)
        if isinstance(value, list):
            return [self._value(item, key, levels) for item in value]
        if isinstance(value, dict):
            masked = {
                name: (self._string(name, "", 0), self._value(value[name], name, levels))
                for name in sorted(value)
            }
            return dict(masked[name] for name in value)
        if isinstance(value, int) and not isinstance(value, bool):
            return self._number(str(value), key) or value
        return value

    def _string(self, text: str, key: str, levels: int) -> str:
        """Return the string with masks; repeated until nothing is found in what came out."""
        kind = _kind_under_key(key, text)
        if kind and not MASK.search(text):
            return self._mask(kind, text)
        while True:
            masked = self._json_text(text, levels) if levels and _is_json(text) else self._plain(text)
            if masked == text:
                return text
            text = masked

    def _number(self, digits: str, key: str) -> str:
        """Return the mask of a number that is a card, or a phone or cvv by its key; empty for any other."""
        kind = "card" if is_card(digits) else _kind_under_key(key, digits)
        return self._mask(kind, digits) if kind else ""

    def _plain(self, text: str) -> str:
        found = find_secrets(text)
        for item in found:
            self._mask(item.kind, text[item.start : item.end])
        if self._known:
            again = (Finding(self._kinds[m[0]], *m.span()) for m in self._known.finditer(text))
            found = list(_united([*found, *_outside_masks(text, again)]))
        parts = []
        at = 0
        for item in found:
            parts += [text[at : item.start], self._mask(item.kind, text[item.start : item.end])]
            at = item.end
        return "".join([*parts, text[at:]])

    def _json_text(self, text: str, levels: int) -> str:
        """Mask inside the string literals and numbers of JSON text; every other character stays as it is."""
        parts = []
        at = 0
        key = ""
        for literal in _JSON_LITERAL.finditer(text):
            gap = text[at : literal.start()]
            parts.append(self._json_numbers(gap, key))
            if "{" in gap or "}" in gap:
                key = ""
            is_key = bool(_COLON.match(text, literal.end()))
            content: str = json.loads(literal[0]) if "\\" in literal[0] else literal[0][1:-1]
            masked = self._string(content, "" if is_key else key, 0 if is_key else levels - 1)
            parts.append(literal[0] if masked == content else json.dumps(masked, ensure_ascii=text.isascii()))
            key = content if is_key else key
            at = literal.end()
        parts.append(self._json_numbers(text[at:], key))
        return "".join(parts)

    def _json_numbers(self, gap: str, key: str) -> str:
        """Mask the numbers between string literals; a mask in place of a number is a string."""

        def masked(match: re.Match[str]) -> str:
            made = self._number(match[0], key)
            return f'"{made}"' if made else match[0]

        return _JSON_NUMBER.sub(masked, gap)

    def _mask(self, kind: str, value: str) -> str:
        """Return the value's mask; a new value gets the next free number of its kind."""
        if value not in self._masks:
            while True:
                self._counts[kind] += 1
                made = mask(kind, self._counts[kind])
                if made not in self._taken:
                    break
            self._masks[value] = made
            self._kinds[value] = kind
            self._remember(kind, value)
        return self._masks[value]

    def _remember(self, kind: str, value: str) -> None:
        """Look for the secret from now on anywhere, unless it could be a plain word."""
        if kind in PERSONAL_KINDS or len(value) < _SPECIAL_LENGTH or value.isalpha():
            return
        self._portable.append(value)
        values = sorted(self._portable, key=lambda item: (-len(item), item))
        self._known = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, values))})(?![A-Za-z0-9])")


@lru_cache(maxsize=4096)
def _tells(key: str) -> bool:
    """Say whether values may be secret because of this key (the fast way out: most keys tell nothing)."""
    return names_credential(key) or names_personal(key)


def _kind_under_key(key: str, text: str) -> str:
    if not key or not _tells(key):
        return ""
    return credential_under_key(key, text) or personal_under_key(key, text)


def _is_json(text: str) -> bool:
    """Say whether the text is a JSON object or array."""
    if text.lstrip(" \t\r\n")[:1] not in {"{", "["}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
