"""On a real terminal: pager, colour, and hostile text that stays text."""

from __future__ import annotations

import os
import pty
import subprocess
import sys


def on_terminal(store, *args: str, **env: str) -> str:
    """Run xp with standard output on a pseudo-terminal and return what it shows."""
    ours, theirs = pty.openpty()
    code = "from xpstore.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "-C", str(store.path), *args],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        env={**os.environ, "TERM": "xterm", **env},
    ):
        os.close(theirs)
        shown = b""
        try:
            while part := os.read(ours, 65536):
                shown += part
        except OSError:  # the other side is closed: Linux says EIO
            os.close(ours)
    return shown.decode()


def test_log_goes_through_the_pager_in_colour(store):
    shown = on_terminal(store, "log", GIT_PAGER="sed s/^/P:/")
    assert shown.startswith("P:\x1b[33mcommit\x1b[0m \x1b[33m")
    assert "\x1b[32m (main)\x1b[0m" in shown
    assert on_terminal(store, "-P", "log", GIT_PAGER="sed s/^/P:/").startswith("\x1b[33mcommit")


def test_hostile_text_drives_no_terminal(store):
    store.write("evil", "Read this.\x1b]0;owned\x07 \x1b[2J \u202egnp.exe\r\n")
    store.commit("Innocent\x1b[8m subject")
    shown = on_terminal(store, "show", NO_COLOR="1", GIT_PAGER="cat")
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "Innocent<U+001B>[8m subject" in shown
    assert "<U+202E>gnp.exe<U+000D>" in shown
