from __future__ import annotations

import pytest

from xpstore.failures import DAMAGE, failure


@pytest.mark.parametrize(
    ("error", "words", "hint"),
    [
        (KeyError("1" * 40), "it is missing", DAMAGE),
        (ValueError("corrupt:"), "corrupt", DAMAGE),
        (ValueError(""), "ValueError", DAMAGE),
        (OSError(28, "No space left on device"), "No space left on device", "free space"),
        (ValueError("failed to create 'x': Read-only file system"), "Read-only", "permissions"),
        (ValueError("unknown object format 'sha256'"), "sha256", "SHA-256"),
        (ValueError("unsupported extension name extensions.refstorage"), "refstorage", "reftable"),
        (ValueError("repository path is not owned by current user"), "not owned", "safe.directory"),
        (ValueError("failed to parse config file: missing ']'"), "config", "correct that file"),
    ],
)
def test_what_people_are_told(error: Exception, words: str, hint: str) -> None:
    failed = failure("read HEAD", "/somewhere", error)
    assert failed.message.startswith("cannot read HEAD in /somewhere: ")
    assert words in failed.message
    assert hint in failed.hint
