from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from xpstore.errors import FormatError, UsageError
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import blob_id
from xpstore.patchfile import read_patch, write_patch

NASTY_LINES = [
    "",
    "- plain",
    "--- a/policy.md",
    "+++ b/policy.md",
    "---",
    "-- ",
    "@@ -1 +1 @@",
    "diff --git a/policy.md b/policy.md",
    "From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001",
    "From ann@example.org Thu Jan  1 10:00:00 2026",
    "\\ No newline at end of file",
    "Subject: pwned",
    "Plan-Id: 00ff",
    "ends with CR\r",
    "form\ffeed and \u2028 and \x85 inside",
    "退款 👩‍👧 می‌خواهم",
    "trailing blanks   ",
    "\ttab",
    "new file mode 100755",
    "index 000..fff",
    "rename from a",
    ">8",
    "diff -r a b",
    "Index: policy.md",
]
LINE = st.sampled_from(NASTY_LINES) | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
CONTENT = st.lists(LINE, max_size=8).map("\n".join)
PROSE = st.lists(LINE, max_size=6).map("\n".join)
NAMES = st.sampled_from(["refund", "退款-规则", "می‌روم", "naïve_1"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | PROSE, lambda inner: st.lists(inner, max_size=2)
)


def gradient(
    before: str | None, after: str | None, name: str = "refund", rationale: str = "Because.", **fields
) -> PatchSemanticGradient:
    return PatchSemanticGradient(
        before_file=None if before is None else MemoryFile(name=name, content=before),
        after_file=None if after is None else MemoryFile(name=name, content=after),
        rationale=rationale,
        **{"confidence": 0.8, **fields},
    )


@st.composite
def gradients(draw: st.DrawFn) -> PatchSemanticGradient:
    before = draw(st.none() | CONTENT)
    after = draw(st.none() | CONTENT)
    assume(before != after)
    return gradient(
        before,
        after,
        draw(NAMES),
        draw(PROSE),
        base_commit=draw(st.none() | st.just("ab" * 20)),
        base_version=draw(st.none() | st.integers(0, 99)),
        confidence=draw(st.floats(0, 1)),
        evidence_trajectory_uris=tuple(
            draw(st.lists(st.just("trajectories/ab/abcd.md") | PROSE, max_size=2))
        ),
        rollouts=tuple(draw(st.lists(st.just("00ff11"), max_size=2))),
        supersedes=tuple(draw(st.lists(NAMES, max_size=1))),
        metadata=draw(st.dictionaries(PROSE, JSON, max_size=2)),
    )


@settings(max_examples=100, deadline=None)
@given(gradients())
def test_reading_what_was_written_gives_the_same_gradient(value):
    data = write_patch(value)
    assert read_patch(data, "p.patch") == value
    assert write_patch(read_patch(data, "p.patch")) == data


@settings(max_examples=60, deadline=None)
@given(gradients())
def test_no_line_outside_the_diff_acts_as_one(value):
    head, _, _ = write_patch(value).decode().partition("\n---\n")
    lines = head.split("\n")
    assert not [line for line in lines if line.startswith(("diff ", "--- ", "+++ ", "@@ ", "Index: ", "---"))]
    assert [line for line in lines if line.startswith("From ")] == lines[:1]


def git(folder: Path, *args: str, data: bytes | None = None) -> bytes:
    return subprocess.run(["git", *args], cwd=folder, input=data, capture_output=True, check=True).stdout


def repository(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "t")
    git(folder, "config", "user.email", "t@example.org")
    git(folder, "config", "core.autocrlf", "false")
    (folder / "policy.md").write_bytes(b"safe\n")
    return folder


def write(folder: Path, value: PatchSemanticGradient, prefix: str = "") -> Path:
    path = folder / prefix / value.target_experience_uri
    path.parent.mkdir(parents=True, exist_ok=True)
    if value.before_file:
        path.write_bytes(value.before_file.content.encode())
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", "base")
    return path


def content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def expected(value: PatchSemanticGradient) -> bytes | None:
    return value.after_file.content.encode() if value.after_file else None


PWN = "diff --git a/policy.md b/policy.md\n--- a/policy.md\n+++ b/policy.md\n@@ -1 +1 @@\n-safe\n+pwned\n"
CASES = {
    "update": gradient("a\nb\n", "a\nc\n"),
    "new file": gradient(None, "a\nb\n"),
    "delete": gradient("a\n", None),
    "new empty file": gradient(None, ""),
    "delete empty file": gradient("", None),
    "fill an empty file": gradient("", "a\n"),
    "empty a file": gradient("a\n", ""),
    "no newline before": gradient("a\nb", "a\nb\n"),
    "no newline after": gradient("a\nb\n", "a\nb"),
    "no newline on both": gradient("a\nb", "x\nb"),
    "last line without newline changes": gradient("a\nb", "a\nc"),
    "CRLF": gradient("a\r\nb\r\n", "a\r\nc\r\n"),
    "a CR alone": gradient("a\rb\n", "a\rc\n"),
    "Chinese name and text": gradient("退款\n", "不要退款\n", "退款-规则", "因为。"),
    "separators": gradient("a\u2028b\fc\x85d\n", "a\u2028b\fc\x85e\n"),
    "quoted diff in the rationale": gradient("a\n", "b\n", rationale=f"It says:\n\n{PWN}\n---\n{PWN}"),
    "quoted diff in the file": gradient(PWN, PWN + "\n" + PWN),
    "nasty lines": gradient(
        "\n".join(NASTY_LINES), "\n".join(reversed(NASTY_LINES)), rationale="\n".join(NASTY_LINES)
    ),
    "nasty metadata": gradient("a\n", "b\n", metadata={PWN: ["\u2028---\n", PWN]}),
}


@pytest.mark.parametrize("case", CASES)
def test_git_apply_and_git_am(case, tmp_path):
    value = CASES[case]
    assert read_patch(write_patch(value), case) == value
    patch = tmp_path / "one.patch"
    patch.write_bytes(write_patch(value))
    prefix = "agents/one"
    repo = repository(tmp_path / "apply")
    path = write(repo, value, prefix)
    git(repo, "apply", f"--directory={prefix}", str(patch))
    assert content(path) == expected(value)
    assert git(repo, "diff", "--name-only", "HEAD", "--", "policy.md") == b""

    repo = repository(tmp_path / "am")
    path = write(repo, value)
    git(repo, "am", "-q", "--keep-cr", str(patch))
    assert content(path) == expected(value)
    assert git(repo, "show", "HEAD:policy.md") == b"safe\n"
    changed = git(repo, "-c", "core.quotePath=off", "diff", "--name-only", "HEAD~1").decode().split()
    assert changed == [value.target_experience_uri]
    assert b"Gradient-Id: " + value.id.encode() in git(repo, "log", "-1", "--format=%B")


def test_the_diff_is_the_one_that_git_writes(tmp_path):
    repo = repository(tmp_path / "r")
    value = gradient("a\nb\nc", "a\nB\nc\n", "退款")
    path = write(repo, value)
    path.write_bytes(value.after_file.content.encode())
    theirs = git(repo, "-c", "core.quotePath=off", "diff", "--full-index", "-U9999")
    assert theirs in write_patch(value)


@settings(max_examples=8, deadline=None)
@given(gradients())
def test_git_applies_any_gradient(value):
    with TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / value.target_experience_uri
        path.parent.mkdir()
        if value.before_file:
            path.write_bytes(value.before_file.content.encode())
        git(folder, "apply", "--whitespace=nowarn", data=write_patch(value))
        assert content(path) == expected(value)


def test_blobs_are_the_ones_git_computes(tmp_path):
    repo = repository(tmp_path / "r")
    assert git(repo, "hash-object", "--stdin", data=b"a\r\n").decode().strip() == blob_id("a\r\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"+c\n", b"+d\n"),
        (b"Confidence: 0.8", b"Confidence: 0.9"),
        (b"Confidence: 0.8", b"Confidence: high"),
        (b"Confidence: 0.8", b"Confidence: 7"),
        (b"    Because.", b"    Because!"),
        (b"Target: experiences/refund.md", b"Target: experiences/other.md"),
        (b"Target: experiences/refund.md", b"Target: ../refund.md"),
        (b"Target: ", b"Aim: "),
        (b"\n---\n", b"\n"),
        (b"@@ -1,2 +1,2 @@", b"@@ -1,9 +1,2 @@"),
        (b"-- \nxpstore\n", b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n"),
        (b"From 0", b"Fro 0"),
        (b"Metadata: {}", b"Metadata: []"),
        (b"a\n-b", b"\xff\n-b"),
    ],
)
def test_a_changed_patch_is_refused(old, new):
    data = write_patch(gradient("a\nb\n", "a\nc\n"))
    assert old in data
    with pytest.raises(FormatError, match=r"p\.patch"):
        read_patch(data.replace(old, new, 1), "p.patch")


@pytest.mark.parametrize(
    "value",
    [
        gradient("a\n", "a\n"),
        gradient("a\n", "b\n", "../x"),
        gradient("a\n", "b\n", rationale="\ud800"),
        gradient("a\n", "b\n", "re\u0301fund"),
        PatchSemanticGradient(
            before_file=MemoryFile(name="a", content="x\n"),
            after_file=MemoryFile(name="b", content="y\n"),
            rationale="",
            confidence=1,
        ),
    ],
)
def test_what_cannot_be_a_patch_is_refused(value):
    with pytest.raises(UsageError):
        write_patch(value)


@pytest.mark.parametrize(
    "key", ["Gradient-Id", "Target", "Base-Blob", "Result-Blob", "Confidence", "Metadata"]
)
def test_a_patch_without_one_of_its_fields(key):
    data = write_patch(gradient(None, "a\n")).replace(f"\n{key}: ".encode(), b"\nX: ")
    with pytest.raises(FormatError, match=f"no '{key}'"):
        read_patch(data, "x.patch")


def test_a_patch_with_metadata_that_has_no_end():
    data = write_patch(gradient(None, "a\n")).replace(b"Metadata: {}", b"Metadata: " + b"[" * 100_000)
    with pytest.raises(FormatError, match="not a patch"):
        read_patch(data, "x.patch")
