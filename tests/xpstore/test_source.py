from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from xpstore import source
from xpstore.errors import UsageError, XpError
from xpstore.source import read_source

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "sample"
    (path / "experiences").mkdir(parents=True)
    (path / "cases").mkdir()
    (path / "experiences" / "refund.md").write_text("# Refund\n\n- Ask why.\n")
    (path / "cases" / "test.jsonl").write_text('{"name": "one"}\n\n{"name": "二"}')
    (path / "README.md").write_bytes(b"\xffany bytes")
    (path / "xp.toml").write_text("[evaluation]\ntrials = 8\n")
    return path


def test_what_a_store_has_is_taken_byte_for_byte(folder: Path) -> None:
    found = read_source(folder)
    assert sorted(found.files) == ["README.md", "cases/test.jsonl", "experiences/refund.md"]
    assert all((folder / path).read_bytes() == data for path, data in found.files.items())
    assert (found.names, found.suites, found.left_out) == (["refund"], ["test"], ())
    assert found.config.evaluation.trials == 8
    assert found.toml == (folder / "xp.toml").read_text()


def test_everything_else_is_left_out_and_named(folder: Path) -> None:
    (folder / "experiences" / ".hidden.md").write_text("x")
    (folder / "experiences" / "picture.png").write_bytes(b"x")
    (folder / "cases" / "old").mkdir()
    (folder / "rollouts").mkdir()
    (folder / "rollouts" / "x.jsonl").write_text("no JSON")
    (folder / ".gitattributes").write_text("* filter=evil\n")
    (folder / "link").symlink_to("/etc/passwd")
    assert read_source(folder).left_out == (
        ".gitattributes",
        "cases/old",
        "experiences/.hidden.md",
        "experiences/picture.png",
        "link",
        "rollouts",
    )


def test_a_part_of_it_is_enough(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing that a store has"):
        read_source(tmp_path)
    (tmp_path / "README.md").write_text("x")
    with pytest.raises(UsageError, match="nothing that a store has"):
        read_source(tmp_path)
    (tmp_path / "experiences").mkdir()
    (tmp_path / "experiences" / "a.md").write_text("- Look.\n")
    assert read_source(tmp_path).names == ["a"]
    with pytest.raises(UsageError, match="cannot read"):
        read_source(tmp_path / "README.md")
    with pytest.raises(UsageError, match="cannot read"):
        read_source(tmp_path / "none")


def test_names_are_kept_in_nfc(folder: Path) -> None:
    (folder / "experiences" / "cafe\u0301.md").write_text("- Look.\n")
    assert read_source(folder).names == ["caf\u00e9", "refund"]
    (folder / "experiences" / "caf\u00e9.md").write_text("- Look.\n")
    with pytest.raises(UsageError, match="twice"):
        read_source(folder)


@pytest.mark.parametrize(
    ("path", "data", "words"),
    [
        ("experiences/bad name.md", b"x", "bad name.md: invalid experience name"),
        ("experiences/CON.md", b"x", "device"),
        ("experiences/Refund.md", b"x", "twin"),
        (
            "experiences/a.md",
            "x\u202ey".encode(),
            r"a\.md, line 1: invisible text|a\.md: line 1: invisible text",
        ),
        ("experiences/a.md", b"x" * 70_000, "bytes: 70000"),
        ("experiences/a.md", b"\xff", "not UTF-8"),
        ("experiences/a.md", b"---\nname: [\n---\n\nx\n", "front matter"),
        ("cases/test.jsonl", b'{"a": 1}\n{"a": \n', r"test\.jsonl: line 2 is no JSON"),
        ("cases/test.jsonl", b"[1]\n", "line 1 is no JSON object"),
        ("cases/test.jsonl", b'{"a": NaN}\n', "NaN"),
        ("cases/test.jsonl", b"[" * 200_000, "line 1 is no JSON"),
        ("cases/test.jsonl", b'{"a": "\xff"}\n', "line 1 is no JSON"),
        ("cases/a b.jsonl", b"{}\n", "is not allowed"),
        ("xp.toml", b"trials = 3\n", "unknown key `trials`"),
        ("xp.toml", b"\xff", "not UTF-8"),
        ("xp.toml", b"format = 99\n", "newer"),
    ],
)
def test_what_no_store_may_have_is_named(folder: Path, path: str, data: bytes, words: str) -> None:
    (folder / path).write_bytes(data)
    with pytest.raises(XpError, match=words) as caught:
        read_source(folder)
    assert caught.value.hint or "twin" in words


@pytest.mark.parametrize("part", ["xp.toml", "README.md", "experiences", "cases", "experiences/refund.md"])
def test_links_are_refused(folder: Path, tmp_path: Path, part: str) -> None:
    (folder / part).rename(tmp_path / "elsewhere")
    (folder / part).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(XpError, match="symbolic link"):
        read_source(folder)


def test_what_is_no_file_is_refused_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "experiences" / "pipe.md")
    with pytest.raises(UsageError, match="no ordinary file"):
        read_source(folder)
    (folder / "experiences" / "pipe.md").unlink()
    (folder / "experiences" / "folder.md").mkdir()
    with pytest.raises(UsageError, match="no ordinary file"):
        read_source(folder)


def test_big_files_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "FILE_LIMIT", 10)
    with pytest.raises(UsageError, match="the limit is 10"):
        read_source(folder)
