"""What a loss of power leaves is named, mended from what is still there, and never read as no experiences."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.builders import fsck, git, make_plan, make_store, page, upsert
from tests.e2e.bad import Answer, Xp, loose, unpack
from xpstore.commit import commit
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.salvage import FOLDER

NAME = "refund"


@pytest.fixture
def xp(capsys) -> Xp:
    return Xp(capsys)


@pytest.fixture(scope="module")
def taught(tmp_path_factory) -> Path:
    """A store whose main branch has a page and its rewording, each from a plan with a patch."""
    where = tmp_path_factory.mktemp("base") / "s"
    loc = make_store(where)
    before = None
    for text in ("Look first.", "Look first, and ask."):
        after = page(NAME, text)
        gradient = PatchSemanticGradient(
            before_file=MemoryFile(name=NAME, content=before) if before else None,
            after_file=MemoryFile(name=NAME, content=after),
            base_commit=loc.repo.resolve("main"),
            base_version=None,
            rationale="It helped.",
            evidence_trajectory_uris=(),
            rollouts=(),
            confidence=0.9,
            supersedes=(),
            metadata={},
        )
        plan = make_plan(loc, upsert(NAME, after, before), gradients=(gradient,), rollouts=())
        commit(loc, [plan], "main")
        before = after
    unpack(where)
    shutil.rmtree(where / ".git" / "hooks")
    return where


@pytest.fixture
def store(taught, tmp_path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(taught, tmp_path / "s", symlinks=True))


def plans(store: Path) -> list[str]:
    return [line for line in git(store, "log", "--format=%B", "main").splitlines() if "Plan-Id" in line]


def sound(xp: Xp, store: Path) -> None:
    fsck(store)
    assert xp(store, "verify").code == 0
    assert git(store, "status", "--short") == ""


def mended(xp: Xp, store: Path, *words: str) -> Answer:
    """Repair the store, which says so, and is sound then."""
    answer = xp(store, "repair")
    assert answer.code == 0, answer
    assert [word for word in words if word not in answer.out] == [], answer.out
    sound(xp, store)
    assert (store / ".git" / FOLDER / "1").is_dir()
    return answer


def test_empty_objects_are_written_again_and_main_stays_where_it_is(store, xp):
    before = git(store, "rev-parse", "main")
    specs = ("HEAD^{tree}", "HEAD:experiences", f"HEAD:experiences/{NAME}.md", "HEAD~1:experiences")
    lost = [loose(store, spec) for spec in (*specs, "HEAD~2^{tree}")]
    for file, _ in lost:
        file.write_bytes(b"")
    assert lost[0][1] in xp(store, "status").error
    broken = xp(store, "repair", "-n")
    assert (broken.code, broken.out.count("its file is empty")) == (1, 5)
    sources = ("from the index", f"from experiences/{NAME}.md", "from the record of plan")
    mended(xp, store, *(object_id for _, object_id in lost), *sources)
    assert git(store, "rev-parse", "main") == before
    assert xp(store, "repair").out == "Nothing is broken.\n"


def test_a_page_that_is_in_no_working_tree_comes_from_a_patch(store, xp):
    git(store, "checkout", "-q", "--detach", "HEAD~2")
    file, object_id = loose(store, f"main:experiences/{NAME}.md")
    file.write_bytes(file.read_bytes()[:-4])
    mended(xp, store, object_id, "cut off or garbage", f"from patch 01-{NAME}.patch of plan")


def test_lost_commits_take_no_plan_with_them(store, xp):
    before, pages = plans(store), git(store, "rev-parse", "main:experiences")
    for file in [loose(store, spec)[0] for spec in ("main", "main~1")]:
        file.write_bytes(b"")
    mended(xp, store, "refs/heads/main", "which the reflog has", "applied again from its record")
    assert (plans(store), git(store, "rev-parse", "main:experiences")) == (before, pages)


EMPTY, NULS, ELSEWHERE = b"", b"\0" * 41, b"1" * 40 + b"\n"


@pytest.mark.parametrize(("main", "evidence"), [(EMPTY, NULS), (ELSEWHERE, EMPTY), (None, None)])
def test_refs_go_back_to_what_their_reflogs_have(store, xp, main, evidence):
    heads = store / ".git" / "refs" / "heads"
    before = git(store, "show-ref")
    for ref, data in (("xp/evidence", evidence), ("main", main)):
        (heads / ref).unlink()
        if data is not None:
            (heads / ref).write_bytes(data)
        for verb in (("status",), ("train", "x.jsonl")) if ref == "main" else (("status",),):
            assert f"refs/heads/{ref}" in xp(store, *verb).err or xp(store, *verb).code == 2
    assert "refs/heads/main" in xp(store, "context", NAME).error
    assert "put back to" in xp(store, "repair").out
    assert git(store, "show-ref") == before
    sound(xp, store)


@pytest.mark.parametrize("data", [EMPTY, NULS])
def test_head_goes_back_to_the_branch_that_was_checked_out(store, xp, data):
    git(store, "switch", "-qc", "topic")
    (store / ".git" / "HEAD").write_bytes(data)
    assert xp(store, "log").error
    assert xp(store, "repair", "-n").code == 1
    mended(xp, store, "HEAD: it names neither a branch nor a commit -> on branch topic again")


def test_refs_of_a_packed_refs_that_is_empty_come_back(store, xp):
    git(store, "pack-refs", "--all")
    before = git(store, "show-ref")
    (store / ".git" / "packed-refs").write_bytes(b"")
    assert "refs/heads/main" in xp(store, "status").error
    assert xp(store, "repair").code == 0
    assert git(store, "show-ref") == before


def test_garbage_in_packed_refs_spares_the_lines_that_are_whole(store, xp):
    git(store, "pack-refs", "--all")
    before = git(store, "show-ref")
    with (store / ".git" / "packed-refs").open("ab") as out:
        out.write(b"\0" * 41)
    mended(xp, store, "packed-refs: lines of it are garbage")
    assert git(store, "show-ref") == before


def test_a_repository_without_reflogs_takes_what_a_remote_had(store, xp, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", f"file://{store}", "bare.git")
    bare = tmp_path / "bare.git"
    git(bare, "fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*")
    (bare / "packed-refs").write_text(
        "".join(
            line for line in (bare / "packed-refs").read_text().splitlines(True) if "heads/main" not in line
        )
    )
    (bare / "refs" / "heads" / "main").write_bytes(b"")
    assert "remote origin has" in xp(bare, "repair").out
    assert git(bare, "rev-parse", "main") == git(store, "rev-parse", "main")


@pytest.mark.parametrize("part", ["idx", "pack"])
def test_a_pack_that_is_cut_off_gives_what_can_be_read_and_a_clone_the_rest(store, xp, tmp_path, part):
    git(tmp_path, "clone", "-q", "--bare", f"file://{store}", "shared.git")
    git(store, "remote", "add", "origin", str(tmp_path / "shared.git"))
    git(store, "repack", "-qad")
    before = git(store, "show-ref", "--heads")
    (file,) = (store / ".git" / "objects" / "pack").glob(f"*.{part}")
    file.chmod(0o644)
    data = file.read_bytes()
    file.write_bytes(data[: len(data) * 9 // 10])
    answer = xp(store, "repair")
    if part == "pack":
        assert answer.code == 1
        assert "objects of it were kept, but not " in answer.out
        assert "fetch --refetch REMOTE" in answer.out
        assert git(store, "log", "-1", "--format=%H", "main")  # the pages are there; holes are in the past
        git(store, "fetch", "-q", "--refetch", "origin")
        answer = xp(store, "repair")
    assert answer.code == 0, answer.out
    assert git(store, "show-ref", "--heads") == before
    fsck(store)
    assert xp(store, "verify").code == 0


def test_an_index_is_made_again_and_staged_work_stays_in_the_files(store, xp):
    page = store / "experiences" / f"{NAME}.md"
    page.write_text(page.read_text() + "- Mine.\n")
    git(store, "add", ".")
    (store / ".git" / "index").write_bytes(b"DIRC\0\0\0\2garbage")
    answer = xp(store, "repair")
    assert (answer.code, "made again of HEAD" in answer.out) == (0, True)
    assert git(store, "status", "--short") == f"M experiences/{NAME}.md" or "Mine." in page.read_text()
    assert "Mine." in page.read_text()


def test_where_nobody_has_it_nothing_moves(store, xp):
    (store / ".git" / "logs" / "refs" / "heads" / "main").unlink()
    file = store / ".git" / "refs" / "heads" / "main"
    file.write_bytes(b"")
    answer = xp(store, "repair")
    assert (answer.code, file.read_bytes()) == (1, b"")
    assert "refs/heads/main: cannot read" in answer.out
    assert "corrupted" in xp(store, "status").error


def test_lost_evidence_is_said_to_be_lost_and_comes_back_from_a_clone(store, xp, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", f"file://{store}", "shared.git")
    loose(store, "xp/evidence")[0].write_bytes(b"")
    assert xp(store, "repair").code == 0
    assert "xp sync brings it back" in xp(store, "verify").out
    git(store, "remote", "add", "origin", str(tmp_path / "shared.git"))
    assert xp(store, "sync").code == 0
    assert xp(store, "verify").code == 0


def test_no_evidence_is_offered_back_whose_folders_are_lost(store, xp):
    assert xp(store, "verify").code == 0  # and where the branch was is known
    loose(store, "xp/evidence^{tree}")[0].write_bytes(b"")
    tip = git(store, "rev-parse", "xp/evidence")
    answer = xp(store, "repair")
    assert f"{tip[:12]} is kept as refs/xpstore/lost/{tip[:12]}" in answer.out
    told = xp(store, "verify").out
    assert "xp sync brings it back" in told
    assert "git branch -f" not in told
