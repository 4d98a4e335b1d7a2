"""Credentials with a shape of their own, and values that are assigned to a credential's name.

A bare word such as "password", a random-looking hash or an id is no credential here: there must be a known
prefix, a header, an address with credentials, or an assignment with a value.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xpstore.finding import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

# Kind → what a token of that kind looks like. Boundaries are added; a token never starts inside a word.
_TOKENS = {
    "aws-key": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    "github-token": r"gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255}",
    "gitlab-token": r"gl(?:pat|dt|ft|soat|rt|cbt|ptt|oas|agent|imt)-[A-Za-z0-9_-]{20,255}",
    "slack-token": r"xox[a-z]-[A-Za-z0-9-]{10,255}|xapp-[A-Za-z0-9-]{10,255}",
    "stripe-key": r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,255}|whsec_[A-Za-z0-9]{24,255}",
    "openai-key": r"sk-(?=[A-Za-z_-]{0,255}\d)[A-Za-z0-9_-]{20,255}",
    "google-key": r"AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,255}|GOCSPX-[A-Za-z0-9_-]{28}",
    "jwt": r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
    "huggingface-token": r"hf_[A-Za-z0-9]{30,255}",
    "npm-token": r"npm_[A-Za-z0-9]{36}",
    "pypi-token": r"pypi-AgE[A-Za-z0-9_-]{50,}",
    "digitalocean-token": r"do[opr]_v1_[a-f0-9]{64}",
    "shopify-token": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    "databricks-token": r"dapi[a-f0-9]{32}",
    "groq-key": r"gsk_[A-Za-z0-9]{40,255}",
    "age-key": r"AGE-SECRET-KEY-1[A-Z0-9]{58}",
    "alibaba-key": r"LTAI[A-Za-z0-9]{12,20}",
    "tencent-key": r"AKID[A-Za-z0-9]{32}",
}
_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    + "|".join(f"(?P<{kind.replace('-', '_')}>{shape})" for kind, shape in _TOKENS.items())
    + r")(?![A-Za-z0-9])"
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?P<label>[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:(?!-----)[\s\S]){16,65536}-----END (?P=label)-----"
    r"|(?:\s|\\[nr])*+(?:[A-Za-z0-9+/=]{16,}+(?:\s|\\[nr])*+)+)"  # cut off: what looks like a key's lines
)
_SCHEMES = r"(?:Basic|Token|Digest|ApiKey|Bearer)"
_HEADER = re.compile(
    r"\bBearer\s{1,3}(?P<bearer>(?=[A-Za-z._~+/=-]{0,4096}\d)[A-Za-z0-9._~+/=-]{16,4096})"
    rf"|\bAuthorization[\"']?\s{{0,2}}[:=]\s{{0,2}}[\"']?{_SCHEMES}\s{{1,3}}(?P<other>[A-Za-z0-9._~+/=-]{{8,4096}})"
    r"|\b(?:Set-)?Cookie:\s{0,3}(?P<cookie>[^\s=;]{1,64}=[^\r\n]{1,4096})",
    re.IGNORECASE,
)
_HEADER_KEY = re.compile(r"(?:proxy-)?authorization|(?:set-)?cookie", re.IGNORECASE)
_HEADER_VALUE = re.compile(rf"{_SCHEMES}\s+\S{{6,}}|[^\s=;]{{1,64}}=.+", re.IGNORECASE | re.DOTALL)
_URL = re.compile(
    r"\b[A-Za-z][A-Za-z0-9+.-]{0,20}://(?:[^\s/:@\"'<>?#]{0,256}:(?P<value>[^\s/\"'<>]{1,256})"
    r"|(?P<user>[^\s/:@\"'<>?#]{20,256}))@(?=[\w\[])"
)
_OPENS_ALONE = r"pass(?:word|wd|phrase|code)|pwd|密码|口令"
_OPENS_WITH_DIGIT = (
    r"(?:client|app|shared|webhook|signing|consumer)[_-]?secret|secret[_-]?(?:access[_-]?)?key|"
    r"(?:api|access|account|private|encryption|signing|sharedaccess)[_ -]?key|"
    r"(?:auth|access|refresh|session|bearer|id|api|bot|secret|private|security)[_-]?token|"
    r"(?:github|gitlab|slack|npm|pypi)[_-]?token|"
    r"sessionid|secret|token"
)
_NAME = re.compile(rf"(?P<password>{_OPENS_ALONE})|(?P<secret>{_OPENS_WITH_DIGIT})", re.IGNORECASE)
_ASSIGNED = re.compile(
    r"[\"'`]?(?P<op>\s{0,3}(?::=|=>|==?|[:\uFF1A])\s{0,3}|\s{1,3}(?:is|was)[\s:]{1,3}|\s{0,3}是\s{0,3})"
    r"(?:\"(?P<double>(?:[^\"\\\n]|\\.){4,512})\"|'(?P<single>(?:[^'\\\n]|\\.){4,512})'|`(?P<tick>[^`\n]{4,512})`"
    r"|(?P<bare>[^\s\"'`<>\u3001\u3002\uFF01\uFF08\uFF09\uFF0C\uFF1B\uFF1F\u201D]{4,512}?)"
    r"(?=$|[\s\"'`<>\u3001\u3002\uFF01\uFF08\uFF09\uFF0C\uFF1B\uFF1F\u201D]|[;&,]\w+=|[.,;:!?)\]}]+(?:\s|$)))"
)
# A key of somebody's documentation: AKIAIOSFODNN7EXAMPLE, ghp_xxxxxxxxxxxxxxxx.
_DOCUMENTATION = re.compile(r".*EXAMPLE.*|.*(.)\1{9,}.*", re.DOTALL)
_STANDS_IN = re.compile(
    r"""[<$%{\[(*].*                                   # <your key>, $KEY, ${KEY}, %KEY%, {{ key }}
      | (.)\1*                                         # ****, xxxx
      | (?i:your|my|the|new|old|some|any)?[_ -]?
        (?i:pass(?:word|wd|phrase|code)?|pwd|secret|token|key|api[_-]?key)s?(?:[_ -]?here)?
      | (?i:your)[_ -].* | .*(?i:redacted|placeholder|changeme|change_me).*
      | (?i:none|null|nil|undefined|true|false|required|optional|string|hidden|value|missing|invalid|wrong)
      | [A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+                  # the name of an environment variable
    """,
    re.VERBOSE | re.DOTALL,
)
_CODE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|\w+(?:\.\w+)*[(\[].*", re.DOTALL)  # self.key, get_key()


def is_documentation(value: str) -> bool:
    """Say whether a token is one that manuals print; it opens nothing."""
    return bool(_DOCUMENTATION.fullmatch(value))


def _is_placeholder(value: str) -> bool:
    """Say whether an assigned value stands for a credential and is none."""
    return is_documentation(value) or bool(_STANDS_IN.fullmatch(value))


def find_credentials(text: str) -> Iterator[Finding]:
    """Yield credentials in `text`; findings may overlap. Documentation keys (`…EXAMPLE…`) are none."""
    for match in _TOKEN.finditer(text):
        if match.lastgroup and not is_documentation(match[0]):
            yield Finding(match.lastgroup.replace("_", "-"), *match.span())
    if "PRIVATE KEY" in text:
        for match in _PRIVATE_KEY.finditer(text):
            yield Finding("private-key", *match.span())
    for match in _HEADER.finditer(text):
        group = match.lastgroup or ""
        if not is_documentation(match[group]):
            yield Finding("cookie" if group == "cookie" else "authorization", *match.span(group))
    if "://" in text:
        for match in _URL.finditer(text):
            group = "value" if match["value"] else "user"
            if not _is_placeholder(match[group]):
                yield Finding("url-password", *match.span(group))
    yield from _assigned(text)


def credential_under_key(key: str, value: str) -> str:
    """Return the kind of credential that `value` is because of its key, or an empty text."""
    if _HEADER_KEY.fullmatch(key):
        return "authorization" if _HEADER_VALUE.fullmatch(value) and not is_documentation(value) else ""
    name = _last_name(key)
    if name is None or any(char.isspace() for char in value):
        return ""
    return _kind(name, key, value, loose=True)


def names_credential(key: str) -> bool:
    """Say whether a key can make its value a credential: it ends with such a name."""
    return bool(_HEADER_KEY.fullmatch(key)) or _last_name(key) is not None


def _last_name(key: str) -> re.Match[str] | None:
    names = [match for match in _NAME.finditer(key) if match.end() == len(key)]
    return names[0] if names else None


def _assigned(text: str) -> Iterator[Finding]:
    """Yield values in `name = value`, `"name": "value"`, `name: value` and `password is value`."""
    for name in _NAME.finditer(text):
        match = _ASSIGNED.match(text, name.end())
        if not match:
            continue
        group = match.lastgroup or "bare"
        bare = group == "bare"
        sentence = match["op"].strip(" :") in {"is", "was", "是"}
        if bare and (_CODE.fullmatch(match[group]) or (sentence and name[0].lower() in {"token", "secret"})):
            continue
        given = "=" in match["op"]
        if not given and any(char.isspace() for char in match[group]):
            continue  # "password": "at least eight characters"
        kind = _kind(name, text, match[group], loose=given or not bare)
        if kind:
            yield Finding(kind, *match.span(group))


def _kind(name: re.Match[str], text: str, value: str, *, loose: bool) -> str:
    """Return the kind, or nothing where the value is none. `loose`: letters alone are a password too."""
    if _is_placeholder(value):
        return ""
    if name["password"]:
        plain_word = value.isalpha() and value.isascii()
        return "password" if len(value) >= 4 and (loose or not plain_word) else ""
    before = text[max(0, name.start() - 1) : name.start()]
    if name[0] == "token" and (before.isalpha() or before in {"_", "-"}):
        return ""  # next_page_token and the like open nothing
    one_word = not any(char.isspace() for char in value)
    return "token" if len(value) >= 8 and one_word and any(char.isdigit() for char in value) else ""
