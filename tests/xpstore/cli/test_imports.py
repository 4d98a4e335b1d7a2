"""What a verb may load: `xp log` must answer before a model library is imported."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"pydantic", "openai", "httpx", "scipy", "rich", "detect_secrets", "unidiff", "watchfiles", "asyncio"}
CODE = """
import json, sys
from xpstore.cli.main import run
code = run(sys.argv[1:])
print(json.dumps([code, sorted({m.partition('.')[0] for m in sys.modules})]), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("args", "allowed"),
    [
        (["log"], {"pygit2", "cffi"}),
        (["show"], {"pygit2", "cffi", "yaml"}),
        (["diff", "main~0", "main"], {"pygit2", "cffi", "yaml"}),
        (["completion", "zsh"], set()),
    ],
)
def test_fast_verbs_load_nothing_heavy(store, args, allowed):
    done = subprocess.run(
        [sys.executable, "-c", CODE, "-C", str(store.path), *args], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    assert not HEAVY & set(modules)
    optional = {"pygit2", "cffi", "yaml", "sqlite3", "trainer"}
    assert (optional & set(modules)) <= allowed
