"""Wait for the disk."""

from __future__ import annotations

import os
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def sync(paths: Sequence[Path]) -> None:
    """Wait until these files and folders are on the disk; one that is gone is no error.

    All at once: a file system with a journal writes it once for all who wait, and writing it is most of what
    a plan takes. Raises OSError where the disk says no.
    """
    failures: list[OSError] = []

    def wait(path: Path) -> None:
        try:
            handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            return
        except OSError as error:
            failures.append(error)
            return
        try:
            os.fsync(handle)
        except OSError as error:
            failures.append(error)
        finally:
            os.close(handle)

    threads = [Thread(target=wait, args=(path,)) for path in paths[1:]]
    for thread in threads:
        thread.start()
    for path in paths[:1]:
        wait(path)
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
