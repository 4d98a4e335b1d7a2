"""Every bad condition ends in one clear error or does no harm: no traceback, nothing half-written."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import fsck, git, identify
from tests.e2e.bad import PAGE, READING, WRITING, Xp, leftovers, loose, rollouts, trained
from xpstore.config import UPCASTERS
from xpstore.location import Location
from xpstore.snapshot import snapshot

pytestmark = pytest.mark.slow
_trained: dict[str, Path] = {}
ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")


@pytest.fixture
def xp(capsys) -> Xp:
    return Xp(capsys)


@pytest.fixture
def store(tmp_path, tmp_path_factory) -> Path:
    """A trained store of this test's own."""
    if not _trained:
        _trained["base"] = trained(tmp_path_factory.mktemp("base") / "s")
    return Path(shutil.copytree(_trained["base"], tmp_path / "s", symlinks=True))


# -- damaged repositories ------------------------------------------------------------------------------


def spoil(file: Path, how: str) -> None:
    data = file.read_bytes()
    if how == "missing":
        file.unlink()
    else:
        file.write_bytes({"empty": b"", "cut off": data[:-4], "NULs": bytes(len(data)), "garbage": b"x"}[how])


@pytest.mark.parametrize("how", ["missing", "empty", "cut off", "NULs", "garbage"])
@pytest.mark.parametrize("spec", ["HEAD", "HEAD^{tree}", "HEAD:experiences", f"HEAD:experiences/{PAGE}.md"])
def test_a_damaged_object_of_main(store, xp, spec, how):
    file, object_id = loose(store, spec)
    spoil(file, how)
    for verb in (("status",), ("context", "refund"), ("deprecate", PAGE)):
        answer = xp(store, *verb)
        assert object_id in answer.error
        assert answer.code == 1
        assert answer.out == ""
    for verb in (("log",), ("show",), ("verify",)):
        assert xp(store, *verb).out != "" or xp(store, *verb).error
    assert xp(store, "verify").code == 1


@pytest.mark.parametrize("how", ["missing", "empty", "cut off", "garbage"])
@pytest.mark.parametrize("spec", ["xp/evidence", "xp/evidence^{tree}", "xp/evidence:ledger"])
def test_damaged_evidence_stops_what_needs_it_and_nothing_else(store, xp, tmp_path, spec, how):
    file, object_id = loose(store, spec)
    spoil(file, how)
    for verb in (("status",), ("verify",), ("train", str(rollouts(tmp_path / "r.jsonl", 0, 2)))):
        assert object_id in xp(store, *verb).error
    for verb in (("log",), ("context", "refund", "order"), ("search", "order")):
        assert xp(store, *verb).out


@pytest.mark.parametrize("part", ["pack", "idx"])
@pytest.mark.parametrize("how", ["missing", "empty", "cut off", "garbage"])
def test_a_damaged_pack(store, xp, part, how):
    git(store, "repack", "-qad")
    (pack,) = (store / ".git" / "objects" / "pack").glob(f"*.{part}")
    pack.chmod(0o644)
    spoil(pack, how)
    for verb in (*READING, *WRITING):
        assert "fsck" in xp(store, *verb).error


@pytest.mark.parametrize("data", [b"", b"\0" * 41, b"1" * 40 + b"\n"])
@pytest.mark.parametrize("ref", ["main", "xp/evidence", "train/lost"])
def test_a_damaged_ref_is_never_read_as_nothing(store, xp, tmp_path, ref, data):
    file = store / ".git" / "refs" / "heads" / ref
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    for verb in (("status",), ("train", str(rollouts(tmp_path / "r.jsonl", 0, 2)))):
        assert f"refs/heads/{ref}" in xp(store, *verb).error
    if ref == "main":
        for verb in (*READING, *WRITING):
            assert xp(store, *verb).error
    assert file.read_bytes() == data


@pytest.mark.parametrize("name", ["HEAD", "config", "packed-refs"])
@pytest.mark.parametrize("data", [b"", b"\0" * 41, b"[core\nx"])
def test_other_files_of_git(store, xp, name, data):
    (store / ".git" / name).write_bytes(data)
    for verb in (*READING, *WRITING):
        answer = xp(store, *verb)
        assert answer.out or answer.error


@pytest.mark.parametrize("data", [b"", b"DIRC\0\0\0\2garbage"])
def test_a_damaged_index_stops_writers_before_anything_moves(store, xp, data):
    before = git(store, "rev-parse", "main")
    (store / ".git" / "index").write_bytes(data)
    for verb in READING:
        assert xp(store, *verb).out
    for verb in WRITING:
        assert "index" in xp(store, *verb).error
    assert git(store, "rev-parse", "main") == before


@pytest.mark.parametrize("pattern", ["xpstore.lock", "xpstore.seen-*"])
@pytest.mark.parametrize("data", [b"", bytes(64), b"\xff\xfe", b'{"a": 1}', b"[[1]]"])
def test_our_own_files_after_a_loss_of_power(store, xp, pattern, data):
    (file,) = (store / ".git").glob(pattern)
    file.write_bytes(data)
    for verb in (("verify",), *WRITING):
        assert xp(store, *verb).code == 0


# -- kinds of repositories -----------------------------------------------------------------------------


def test_no_repository_no_store(xp, tmp_path):
    assert "is in no git repository" in xp(tmp_path, "log").error
    git(tmp_path, "init", "-q", "-b", "main")
    answer = xp(tmp_path, "status")
    assert (answer.code, "no store in" in answer.error, "xp init" in answer.error) == (2, True, True)


def test_sha_256(xp, tmp_path):
    git(tmp_path, "init", "-q", "--object-format=sha256")
    assert "SHA-256 repositories are not supported" in xp(tmp_path, "init", ".").error


def test_reftable(store, xp):
    git(store, "config", "core.repositoryformatversion", "1")
    git(store, "config", "extensions.refStorage", "reftable")
    for verb in (*READING, *WRITING, ("init", "sub")):
        assert "reftable repositories are not supported" in xp(store, *verb).error


def clone(store: Path, *options: str) -> Path:
    git(store, "config", "uploadpack.allowFilter", "true")
    git(store, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(store.parent, "clone", "-q", *options, f"file://{store}", "clone")
    identify(store.parent / "clone")
    return store.parent / "clone"


def test_a_shallow_clone_reads_and_does_not_judge_or_learn(store, xp, tmp_path):
    shallow = clone(store, "--depth=1", "--no-single-branch")
    for verb in (("log",), ("status",), ("context", "refund", "order")):
        assert xp(shallow, *verb).code == 0
    file = str(rollouts(tmp_path / "r.jsonl", 0, 2))
    for verb in (("verify",), ("revert", "HEAD"), ("train", file)):
        assert "--unshallow" in xp(shallow, *verb).error
    git(shallow, "fetch", "-q", "--unshallow")
    git(shallow, "branch", "-q", "xp/evidence", "origin/xp/evidence")
    assert xp(shallow, "verify").code == 0


@pytest.mark.parametrize("kind", ["blob:none", "tree:0"])
def test_a_partial_clone_fetches_nothing_by_itself_and_says_how(store, xp, kind):
    partial = clone(store, f"--filter={kind}")
    git(partial, "branch", "-q", "xp/evidence", "origin/xp/evidence")
    assert xp(partial, "context", "refund", "order").out
    assert "git fetch --refetch --no-filter" in xp(partial, "status").error
    git(partial, "fetch", "-q", "--refetch", "--no-filter")
    git(partial, "config", "--unset", "remote.origin.promisor")
    assert xp(partial, "status").code == 0
    assert xp(partial, "verify").code == 0


@pytest.mark.parametrize("options", [["--no-cone", "/xp.toml"], ["--cone", "--sparse-index", "elsewhere"]])
def test_a_sparse_checkout_follows_and_stays_sparse(store, xp, options):
    (store / "elsewhere").mkdir()
    (store / "elsewhere" / "a.txt").write_text("a\n")
    git(store, "add", ".")
    git(store, "commit", "-qm", "Add")
    git(store, "sparse-checkout", "set", *options)
    assert xp(store, "deprecate", PAGE).code == 0
    assert git(store, "status", "--short") == ""
    assert not (store / "experiences").exists()


def test_a_clone_without_the_evidence(store, xp, tmp_path):
    lonely = clone(store, "--single-branch")
    for verb in READING[:-1]:
        assert xp(lonely, *verb).code == 0
    answer = xp(lonely, "verify")
    assert (answer.code, "git fetch origin xp/evidence:xp/evidence" in answer.out) == (1, True)
    assert xp(lonely, "train", str(rollouts(tmp_path / "r.jsonl", 0, 2))).code == 0


@ROOT
def test_a_repository_of_somebody_else(store, xp):
    subprocess.run(["chown", "-R", "12345:12345", str(store)], check=True)
    for verb in (*READING, *WRITING, ("init", "sub")):
        assert "safe.directory" in xp(store, *verb).error
    git(store.parent, "config", "--global", "--add", "safe.directory", str(store))
    assert xp(store, "deprecate", PAGE).code == 0


# -- the store's own files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "`format` must be a whole number"),
        ("format = 2\n", "newer than this program"),
        ("format = 1\nid = 'x'\nspeed = 9\n", "unknown key"),
        ("format = ", "TOML"),
        ("\ufffe", "TOML"),
    ],
)
def test_an_xp_toml_that_is_none(store, xp, text, words):
    (store / "xp.toml").write_text(text, encoding="utf-8")
    for verb in (*READING, *WRITING):
        answer = xp(store, *verb)
        assert words in answer.error
        assert (answer.code, "xp.toml" in answer.err) == (2, True)


def test_an_older_format_goes_through_its_upcaster(store, xp, monkeypatch):
    monkeypatch.setitem(UPCASTERS, 0, lambda data: {**data, "format": 1})
    config = (store / "xp.toml").read_text()
    (store / "xp.toml").write_text(config.replace("format = 1", "format = 0"))
    git(store, "commit", "-qam", "As it was")
    git(store, "commit", "-q", "--allow-empty", "-m", "Later")
    for verb in (("log",), ("status",), ("context", "refund", "order"), ("verify",)):
        assert xp(store, *verb).code == 0


def test_limits_hold_for_training_too(store, xp, tmp_path):
    config = (store / "xp.toml").read_text()
    (store / "xp.toml").write_text(config.replace("file_lines = 1000", "file_lines = 3"))
    git(store, "commit", "-qam", "Lower the limit")
    refs = git(store, "rev-parse", "main")
    file = str(rollouts(tmp_path / "r.jsonl", 0, 40))
    for options in ([], ["--dry-run"]):
        answer = xp(store, "train", file, "--branch", "main", *options)
        assert (answer.code, "the limit is 3" in answer.error) == (2, True)
    assert git(store, "rev-parse", "main") == refs


def test_hand_made_experiences_that_no_plan_may_write(store, xp):
    secret = store.parent / "secret.md"
    secret.write_text("TOP SECRET refund order\n")
    folder = store / "experiences"
    (folder / "link.md").symlink_to(secret)
    (folder / "alias.md").symlink_to(f"{PAGE}.md")
    (folder / "nul.md").write_text("refund\n")
    (folder / "long.md").write_text("refund\n" * 2_000)
    flag = "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    (folder / "emoji.md").write_text(f"refund 👨\u200d👩\u200d👧 {flag} می\u200cخواهم\n")
    git(store, "add", ".")
    git(store, "commit", "-qm", "By hand")
    context = xp(store, "context", "refund", "order", "--budget", "100000")
    assert "SECRET" not in context.out
    assert "emoji" in context.out
    broken = ("link", "alias", "nul", "long")
    assert all(f"not read: {name}.md" in context.err for name in broken)
    for verb in (("search", "SECRET"), ("blame", "link"), ("show",), ("diff", "HEAD~1", "HEAD"), ("log",)):
        answer = xp(store, *verb)
        assert "TOP SECRET" not in answer.out + answer.err, verb
    verify = xp(store, "verify")
    assert verify.code == 1
    assert all(f"experiences/{name}.md: " in verify.out for name in broken)
    assert "emoji" not in verify.out
    assert "link.md" in snapshot(Location.find(store), "main").metadata["skipped"]
    assert secret.read_text() == "TOP SECRET refund order\n"


# -- what is trained on --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b"{", "has no end"),
        (b"\0\1\2", "binary file"),
        (b"\x1f\x8b", "gzip"),
        (b"[1, 2]", "no rollout was found"),
        (b'{"messages": []}\n', "no rollout was found"),
        (b"[" * 100_000, "nested deeper"),
    ],
)
def test_files_that_hold_no_rollout(store, xp, tmp_path, data, words):
    file = tmp_path / "in.jsonl"
    file.write_bytes(data)
    before = git(store, "for-each-ref")
    answer = xp(store, "train", str(file))
    assert (answer.code, words in answer.error, "in.jsonl" in answer.err) == (2, True, True)
    assert git(store, "for-each-ref") == before


def test_a_line_of_50_mb_is_passed_over(store, xp, tmp_path):
    file = rollouts(tmp_path / "in.jsonl", 30, 32)
    with file.open("a") as out:
        out.write('{"messages": "')
        for _ in range(50):
            out.write("x" * (1 << 20))
        out.write('"}\n')
    answer = xp(store, "train", str(file))
    assert answer.code == 0
    assert "2 rollouts" in answer.out
    assert ":3: the line is longer than 32 MB" in answer.out


# -- surroundings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("home", [None, "", "/nonexistent", "relative"])
def test_no_home_and_no_identity(store, home):
    for key in ("user.name", "user.email"):
        git(store, "config", "--unset", key)
    env = {k: v for k, v in os.environ.items() if k not in {"HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME"}}
    env |= {} if home is None else {"HOME": home}
    for verb in (("search", "order"), ("deprecate", PAGE)):
        done = subprocess.run(
            [str(Path(sys.executable).with_name("xp")), "-C", str(store), *verb],
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
    assert git(store, "log", "-1", "--format=%an %ce") == "xpstore xpstore@xpstore.invalid"


def test_the_c_locale(store):
    (store / "experiences" / "退款.md").write_text("先查订单。refund\n", encoding="utf-8")
    git(store, "add", ".")
    git(store, "commit", "-qm", "退款")
    env = {**os.environ, "LC_ALL": "C", "LANG": "C"}
    for verb in (("log",), ("context", "refund"), ("search", "退款", "--json")):
        done = subprocess.run(
            [str(Path(sys.executable).with_name("xp")), "-C", str(store), *verb],
            env=env,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        done.stdout.decode()


NAMES = ("a b", "line\nbreak", "tab\tquote\"'\\", "é\u202e退", os.fsdecode(b"lat\xe9"), "-C")


@pytest.mark.parametrize("name", NAMES)
def test_paths_of_every_kind(xp, tmp_path, name):
    place = tmp_path / name
    assert xp(tmp_path, "init", str(place)).code == 0
    identify(place)
    file = rollouts(place / "r r.jsonl")
    assert xp(place, "train", str(file), "--branch", "main").code == 0
    for verb in (*READING, ("deprecate", PAGE)):
        assert xp(place, *verb).code == 0
    assert xp(place, "status", "--json").code == 0


@pytest.mark.parametrize("now", [0, 1, 2**31 + 5, 2**33, 253_402_300_799])
def test_a_wrong_clock(store, xp, tmp_path, monkeypatch, now):
    monkeypatch.setattr("xpstore.git.time.time", lambda: float(now))
    file = str(rollouts(tmp_path / "r.jsonl", 0, 40))
    assert xp(store, "train", file, "--branch", "main").code == 0
    assert xp(store, "deprecate", PAGE).code == 0
    for verb in READING:
        assert xp(store, *verb).code == 0
    fsck(store)


def test_the_environment_redirects_nothing(store, xp, tmp_path, monkeypatch):
    other = Path(shutil.copytree(store, tmp_path / "other"))
    git(store, "branch", "train/x", "main~1")
    before = git(other, "for-each-ref"), git(other, "status", "--short")
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)
    with monkeypatch.context() as patched:
        for key, value in {
            "GIT_DIR": f"{other}/.git",
            "GIT_WORK_TREE": str(other),
            "GIT_INDEX_FILE": f"{other}/.git/index",
            "GIT_OBJECT_DIRECTORY": f"{other}/.git/objects",
            "GIT_COMMON_DIR": f"{other}/.git",
            "GIT_NAMESPACE": "x",
            "GIT_EXTERNAL_DIFF": str(trap),
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "core.fsmonitor",
            "GIT_CONFIG_VALUE_0": str(trap),
            "GIT_AUTHOR_NAME": "Eve",
            "GIT_COMMITTER_DATE": "rubbish",
            "GIT_DEFAULT_HASH": "sha256",
            "GIT_TEMPLATE_DIR": str(tmp_path),
        }.items():
            patched.setenv(key, value)
        for verb in (*READING, ("blame", PAGE), ("repair",), ("maintain",), ("land", "train/x"), *WRITING):
            assert xp(store, *verb).code == 0
        assert xp(tmp_path, "init", "new").code == 0
    assert (git(other, "for-each-ref"), git(other, "status", "--short")) == before
    assert git(store, "status", "--short") == ""
    assert git(store, "rev-list", "--count", "main") == "5"
    assert (tmp_path / "new" / ".git").is_dir()
    assert not (tmp_path / "ran").exists()


# -- disks ---------------------------------------------------------------------------------------------


@pytest.fixture
def mount(tmp_path):
    """Mounts at `tmp_path/disk` and takes it away again."""
    place = tmp_path / "disk"
    place.mkdir()

    def mounted(*options: str) -> Path:
        subprocess.run(["mount", *options, str(place)], check=True)
        return place

    yield mounted
    subprocess.run(["umount", "-l", str(place)], check=True)


@ROOT
def test_a_read_only_disk(store, xp, mount, tmp_path):
    disk = mount("--bind", str(store))
    mount("-o", "remount,ro,bind")
    for verb in READING:
        assert xp(disk, *verb).out
    file = str(rollouts(tmp_path / "r.jsonl", 0, 40))
    for verb in (*WRITING, ("train", file), ("init", "sub")):
        answer = xp(disk, *verb)
        assert answer.code in {1, 2}
        assert answer.error
    assert "Read-only" in xp(disk, "train", file).error


@ROOT
@pytest.mark.parametrize(
    "room", [0, 8, 40, 58, *(pytest.param(room, marks=pytest.mark.stress) for room in (12, 20, 56, 60))]
)
def test_a_full_disk(store, xp, mount, tmp_path, room):
    """Whatever is written last, `room` kilobytes are too few for all of it."""
    place = Path(shutil.copytree(store, mount("-t", "tmpfs", "-o", "size=2m", "tmpfs") / "s"))
    git(place, "status")  # knows the times of the copies
    file = str(rollouts(tmp_path / "r.jsonl", 0, 40))
    free = shutil.disk_usage(place).free
    (place.parent / "fill").write_bytes(b"x" * max(0, free - room * 1024))
    before = git(place, "rev-parse", "main")
    for verb in (("deprecate", PAGE), ("train", file, "--branch", "main")):
        answer = xp(place, *verb)
        if answer.code:
            assert any(words in answer.error for words in ("No space", "diskspace", "nable to write"))
            assert git(place, "rev-parse", "main") == before
        before = git(place, "rev-parse", "main")
        assert leftovers(place) == []
        assert git(place, "diff", "--stat") == ""
        fsck(place)
    (place.parent / "fill").unlink()
    for verb in (("train", file, "--branch", "main"), ("verify",)):
        assert xp(place, *verb).code == 0
    assert git(place, "status", "--short") == ""


def test_a_directory_without_permission(store, xp, monkeypatch):
    """As an ordinary user sees it; nothing stops root."""

    def refuse(path, flags, *args, **options):
        if str(path).startswith(str(store)) and flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, flags, *args, **options)

    opened = os.open
    monkeypatch.setattr(os, "open", refuse)
    before = git(store, "for-each-ref")
    for verb in WRITING:
        assert "Permission denied" in xp(store, *verb).error
    assert git(store, "for-each-ref") == before
    assert stat.S_ISDIR(store.stat().st_mode)
