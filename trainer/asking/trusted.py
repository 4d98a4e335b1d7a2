"""Which host may have a key. xp.toml comes with a clone, so anybody may have written what it names.

What OPENAI_API_KEY holds goes where the user's own environment sends it: to the host of OPENAI_BASE_URL, or
to OpenAI. Any other host, and any other variable, is the user's to allow, in git's configuration:

    git config --global --add xp.trustedModelHost https://llm.example.com             with OPENAI_API_KEY
    git config --global --add xp.trustedModelHost 'https://llm.example.com MY_KEY'    with MY_KEY
"""

from __future__ import annotations

import shlex

from xpstore import gitcli
from xpstore.errors import UsageError

SETTING = "xp.trustedModelHost"
OWN_KEY = "OPENAI_API_KEY"
"""The variable whose key is meant for endpoints of models, and for nothing else."""


def check(origin: str, variable: str, own_origin: str) -> None:
    """Raise UsageError where nobody but xp.toml sends the key of a variable to this scheme, host and port.

    `own_origin` is where the environment sends OPENAI_API_KEY. Origins are compared letter by letter, as the
    client writes them: in lower case, without the scheme's own port, in ASCII.
    """
    if (origin, variable) == (own_origin, OWN_KEY):
        return
    pair = origin if variable == OWN_KEY else f"{origin} {variable}"
    if pair in gitcli.own_settings(SETTING):
        return
    raise UsageError(
        f"xp.toml would send what {_shown(variable)} holds to {_shown(origin)},"
        f" which your configuration of git does not trust with it",
        hint=f"if you do: git config --global --add {SETTING} {shlex.quote(_shown(pair))}",
    )


def _shown(text: str) -> str:
    """Return the text as a terminal may have it: one line that moves nothing."""
    return text if text.isprintable() else ascii(text)
