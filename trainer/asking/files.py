"""Write a file whole or not at all."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DRAFT = ".draft"


def put(file: Path, text: str, *, mode: int = 0o666) -> None:
    """Put a text there, in place of what was there; its folder must be. Raises OSError, and leaves no draft.

    `mode`: who may read and write it, without what the umask takes.
    Of two writers at once, the later one stays. A writer that is killed leaves a draft, which nobody reads.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}{DRAFT}")
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as out:
            out.write(text)
        draft.replace(file)
    except BaseException:  # Ctrl-C too must leave no draft
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
