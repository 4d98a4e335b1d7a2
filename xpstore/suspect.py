"""Text that tries to give orders, or carries a secret: what a lesson must not say unseen.

Lessons are read by agents. A transcript that makes one say "ignore your instructions" has won. No list of
patterns is complete; what they find is held back for a person to read, and nothing else relies on them.
"""

from __future__ import annotations

import re

_IGNORE = "tells the reader to ignore its instructions"
_ORDERS = {
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}"
    r"\b(?:instructions?|prompts?|rules|polic(?:y|ies)|guidelines|guardrails)\b": _IGNORE,
    r"(?:忽略|无视|忘记|不要遵守).{0,12}(?:指令|指示|说明|提示|规则)": _IGNORE,
    r"\b(?:system|developer) (?:prompt|message)\b|系统提示": "speaks of the reader's own prompt",
    r"\byou are (?:now|no longer)\b": "gives the reader another role",
    r"\bact as (?:an? )?(?:admin|root|developer)\b": "gives the reader another role",
    r"\b(?:approve|merge|promote|land)\b.{0,20}\b(?:yourself|this (?:plan|lesson))\b": "asks for approval",
    r"\brm\s+-\w*[rf]|\bsudo\b|\b(?:curl|wget)\s+\S|\|\s*(?:ba|z)?sh\b|\beval\s*\(": "names a shell command",
    r"\b(?:send|reveal|print|leak|show|post|upload)\b.{0,40}"
    r"\b(?:passwords?|secrets?|api[ _-]?keys?|tokens?|credentials?)\b": "asks for a secret",
    r"\b(?:https?|ftp|file|data|javascript)://|\bdata:\w+/\w+;": "names an address",
}
"""Pattern → why a text that it matches is held back."""
_PATTERNS = tuple((why, re.compile(pattern, re.IGNORECASE)) for pattern, why in _ORDERS.items())


def orders(text: str) -> list[str]:
    """Return why a text looks like an order to its reader, each reason once; none = nothing found."""
    folded = " ".join(text.split())
    return list(dict.fromkeys(why for why, pattern in _PATTERNS if pattern.search(folded)))
