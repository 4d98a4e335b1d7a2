from __future__ import annotations

import pytest

from trainer.asking.files import put


def test_a_file_is_replaced_whole(tmp_path):
    for text in ("one", "two ✓", "half \ud800"):
        put(tmp_path / "a", text)
        assert (tmp_path / "a").read_text("utf-8", "surrogatepass") == text
    assert [f.name for f in tmp_path.iterdir()] == ["a"]


def test_nobody_else_reads_what_is_private(tmp_path):
    put(tmp_path / "a", "for all")
    assert (tmp_path / "a").stat().st_mode & 0o600 == 0o600
    put(tmp_path / "a", "private", mode=0o600)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x").write_text("")
    with pytest.raises(OSError, match="folder"):
        put(tmp_path / "folder", "text")
    with pytest.raises(FileNotFoundError):
        put(tmp_path / "none" / "a", "text")
    assert [f.name for f in tmp_path.iterdir()] == ["folder"]
