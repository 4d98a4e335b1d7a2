"""Write a file whole or not at all."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

DRAFT = ".draft"


def put(file: Path, text: str) -> None:
    """Put a text there, in place of what was there; its folder must be. Raises OSError, and leaves no draft.

    Of two writers at once, the later one stays. A writer that is killed leaves a draft, which nobody reads.
    """
    draft = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}{DRAFT}")
    try:
        draft.write_text(text, "utf-8", "surrogatepass")
        draft.replace(file)
    except BaseException:  # Ctrl-C too must leave no draft
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise
