"""JSON as a request may have it: what Python's reader would let through is refused here.

Refused are NaN and infinite numbers, numbers too long to be read, a key twice in one object, nesting beyond a
limit, half a surrogate pair, and what is not UTF-8: each would fail later, deep inside, or mean something
else to the next reader.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from math import isfinite
from typing import NoReturn

from trainer.web.problem import WebError

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def check_json(body: bytes, depth: int) -> None:
    """Check a body that claims to be JSON; an empty one is fine. Raises WebError (400)."""
    if not body:
        return
    try:
        value: object = json.loads(
            body.decode("utf-8"), parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_once
        )
    except RecursionError:
        raise _too_deep(depth) from None
    except UnicodeDecodeError:
        raise WebError(400, "the request is not UTF-8") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise WebError(400, f"the request is not JSON: {error.msg} ({where})") from None
    except ValueError as error:  # a number of thousands of digits
        raise WebError(400, f"the request is not JSON: {error}") from None
    if body.count(b"[") + body.count(b"{") > depth:
        _check_depth(value, depth)
    if _SURROGATE.search(body):
        _check_text(value)


def _check_depth(value: object, depth: int) -> None:
    level = [value]
    for _ in range(depth):
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(item.values())
            elif isinstance(item, list):
                below.extend(item)
        level = [item for item in below if isinstance(item, dict | list)]
        if not level:
            return
    raise _too_deep(depth)


def _check_text(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise WebError(400, "the request has half of a surrogate pair, which is no character") from None


def _too_deep(depth: int) -> WebError:
    return WebError(400, f"the request is nested deeper than {depth} levels", details={"limit": depth})


def _no_number(text: str) -> NoReturn:
    raise WebError(400, f"{text} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise WebError(400, f"{text[:40]} is too large for a number")
    return number


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise WebError(400, f"the key {twice[:80]!r} is there twice in one object")
    return found
