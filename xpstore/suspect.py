"""Text that tries to give orders, or carries a secret: what a lesson must not say unseen.

Lessons are read by agents. A transcript that makes one say "ignore your instructions" has won. No list of
patterns is complete; what they find is held back for a person to read, and nothing else relies on them.
A recording that tries to instruct who learns from it is found in the same way.
"""

from __future__ import annotations

import re
import unicodedata

_IGNORE = "tells the reader to ignore its instructions"
_LEAK = "asks for a secret"
_APPROVAL = "asks for approval"
_DICTATES = "tells the reader what to do with its lessons"
_SHELL = "names a shell command"
_ADDRESS = "names an address"
_ORDERS = {
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}"
    r"\b(?:instructions?|prompts?|rules|polic(?:y|ies)|guidelines|guardrails)\b": _IGNORE,
    r"(?:忽略|无视|忘记|不要遵守).{0,12}(?:指令|指示|说明|提示|规则)": _IGNORE,
    r"\b(?:system|developer) (?:prompt|message)\b|系统提示": "speaks of the reader's own prompt",
    r"\byou are (?:now|no longer)\b": "gives the reader another role",
    r"\bact as (?:an? )?(?:admin|root|developer)\b": "gives the reader another role",
    r"\bnew (?:system )?instructions?\b ?:|新的?(?:指令|指示) ?[:\uff1a]": "gives other instructions",
    r"<\|\w+\|>|\[/?INST\]|<</?SYS>>": "imitates the marks of a conversation",
    r"\b(?:approve|merge|promote|land)\b.{0,20}"
    r"\b(?:yourself|itself|this (?:plan|lesson|experience|candidate))\b": _APPROVAL,
    r"\b(?:skip|disable|pass|bypass)\b.{0,10}\bthe gate\b": _APPROVAL,
    r"批准.{0,6}(?:自己|自身|(?:本|这个|此)(?:计划|经验))": _APPROVAL,
    r"\b(?:write|add|record|store|save|delete|remove|erase|wipe|overwrite|rewrite|replace)\b.{0,30}"
    r"\b(?:lessons?|experiences?)\b": _DICTATES,
    r"\b(?:ignorier|missacht|vergiss|umgeh|übergeh)(?:e|en|t)?\b.{0,40}"
    r"\b(?:anweisung|vorgabe|regel|richtlinie|instruktion|prompt)\w*": _IGNORE,
    r"\b(?:anweisung|vorgabe|regel|richtlinie|instruktion)\w*\b.{0,20}"
    r"\b(?:ignorieren|missachten|vergessen)\b": _IGNORE,
    r"\b(?:schreib|speicher|lösch|entfern|überschreib|ersetz)(?:e|en|t)?\b.{0,30}"
    r"\b(?:lektion|erfahrung)\w*": _DICTATES,
    r"\b(?:lektion|erfahrung)\w*\b.{0,20}\b(?:schreiben|speichern|löschen|entfernen|ersetzen)\b": _DICTATES,
    r"\b(?:genehmig|billig|übernimm|übernehm)(?:e|en|t)?\b.{0,20}"
    r"\bdiese[nrs]? (?:plan|lektion|erfahrung)\w*": _APPROVAL,
    r"(?:写入|写下|记录|添加|删除|清除|清空|覆盖).{0,10}(?:经验|教训|记忆)": _DICTATES,
    r"\b(?:write|create|save|store|append|put|copy)\b.{0,60}(?:\.\./|/etc/|\.git/|\.ssh\b)": "names a file",
    r"\brm\s+-\w*[rf]|\bsudo\b|\b(?:curl|wget)\s+\S|\|\s*(?:ba|z)?sh\b|\beval\s*\(": _SHELL,
    r"\b(?:send|reveal|print|leak|show|post|upload)\b.{0,40}"
    r"\b(?:passwords?|secrets?|api[ _-]?keys?|tokens?|credentials?)\b": _LEAK,
    r"(?:发送|泄露|透露|打印|显示|上传).{0,12}(?:密码|口令|密钥|令牌|凭证)": _LEAK,
    r"\b(?:https?|ftp|file|data|javascript)://|\bdata:\w+/\w+;": _ADDRESS,
}
"""Pattern → why a text that it matches is held back."""
_PATTERNS = tuple((why, re.compile(pattern, re.IGNORECASE)) for pattern, why in _ORDERS.items())
_JOINT = re.compile(r"_+|(?<=[a-z])(?=[A-Z])")
"""What joins the words of a name."""


def orders(text: str) -> list[str]:
    """Return why a text looks like an order to its reader, each reason once; none = nothing found."""
    folded = " ".join(_seen(text).split())
    return list(dict.fromkeys(why for why, pattern in _PATTERNS if pattern.search(folded)))


def instructions(text: str) -> list[str]:
    """Return why a text of a recording looks like an order to whoever learns from it.

    Commands and addresses are not among the reasons: recordings are full of them. So they are of names like
    `show_password`; what names are made of counts only where it speaks of instructions or approval.
    """
    found = [why for why in orders(text) if why not in {_SHELL, _ADDRESS}]
    found += [why for why in orders(_JOINT.sub(" ", text)) if why in {_IGNORE, _APPROVAL}]
    return list(dict.fromkeys(found))


def _seen(text: str) -> str:
    """Return a text as a reader takes it: no other widths and styles of letters, nothing invisible."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text)
    return "".join(c for c in plain if unicodedata.category(c) != "Cf")
