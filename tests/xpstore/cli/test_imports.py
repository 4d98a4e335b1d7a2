"""What a verb may load: `xp log` must answer before a model library is imported."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

CODE = """
import json, sys
before = set(sys.modules)
from xpstore.cli.main import run
code = run(sys.argv[1:])
print(json.dumps([code, sorted(set(sys.modules) - before)]), file=sys.stderr)
"""
BRINGS = {"pygit2": {"cffi", "_cffi_backend"}, "yaml": {"_yaml", "cython_runtime"}}
"""What the libraries load by themselves."""

HELP = {"cli", "cli.app", "cli.main", "cli.output", "cli.verbs", "errors", "names"}
STORE = {
    *HELP,
    *("cache", "config", "durable", "failures", "git", "gitcli", "layout", "location", "loose", "objects"),
    *("reader", "refs", "revision", "settings", "tracking", "trees"),
}
LOG = {
    *STORE,
    "cli.log",
    "cli.pager",
    "events",
    "evidence_read",
    "history",
    "recent",
    "recognise",
    "trailers",
}
SHOW = {*LOG, "cli.diff", "cli.show", "document", "frontmatter", "markdown", "patchtext", "review"}
BLAME = {*SHOW, "blame", "cli.blame", "page_history", "timeline", "wording"}
VERBS = {
    "help": (["--help"], {"click"}, HELP),
    "completion": (["completion", "zsh"], {"click"}, HELP | {"cli.completion"}),
    "log": (["log", "-n", "1"], {"click", "pygit2"}, LOG),
    "show": (["show"], {"click", "pygit2", "yaml"}, SHOW),
    "blame": (["blame", "-v", "refund-item"], {"click", "pygit2", "yaml"}, BLAME),
    "diff": (["diff", "main~0", "main"], {"click", "pygit2", "yaml"}, SHOW),
}


@pytest.mark.parametrize("verb", VERBS)
def test_what_a_verb_may_load(store, verb):
    args, libraries, ours = VERBS[verb]
    done = subprocess.run(
        [sys.executable, "-c", CODE, "-C", str(store.path), *args], capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    loaded = {m.removeprefix("xpstore.") for m in modules if m.startswith("xpstore.")}
    assert loaded <= ours
    libraries = libraries.union(*(BRINGS.get(library, set()) for library in libraries))
    tops = {m.partition(".")[0] for m in modules if not m.startswith("_cython_")}
    assert tops - {"xpstore"} - sys.stdlib_module_names <= libraries
    assert "asyncio" not in modules
