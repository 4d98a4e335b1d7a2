import errno
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.pages_of_others import CHINESE, REFUND, policy
from xpstore.errors import RefusedError, UsageError
from xpstore.exchange.agents_file import blocks
from xpstore.exchange.bundle import bundle
from xpstore.exchange.formats import FORMATS
from xpstore.exchange.write import write

BOTH = policy(refund_order=REFUND, 退款=CHINESE)
ONE = policy(refund_order=REFUND)


@pytest.mark.parametrize("form", FORMATS)
def test_an_export_may_be_repeated(tmp_path, form):
    target = tmp_path / "out"
    made = bundle(BOTH, form, "s1")
    assert write(made, target, "s1", dry_run=True).written
    assert not target.exists()
    first = write(made, target, "s1")
    again = write(made, target, "s1")
    assert (again.written, again.unchanged) == ((), first.written)
    changed = write(bundle(policy(refund_order=REFUND.replace("twice", "thrice")), form, "s1"), target, "s1")
    assert len(changed.written) == 1
    assert not [name for _, _, names in os.walk(tmp_path) for name in names if name.startswith(".")]


def test_skills_that_are_no_more_go_unless_somebody_has_a_hand_in_them(tmp_path):
    write(bundle(BOTH, "skills", "s1"), tmp_path, "s1")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "SKILL.md").write_text("---\nname: mine\n---\n")
    assert write(bundle(ONE, "skills", "s1"), tmp_path, "s1").removed == ("退款/SKILL.md",)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "refund-order"]
    write(bundle(BOTH, "skills", "s1"), tmp_path, "s1")
    (tmp_path / "退款" / "notes.txt").write_text("mine")
    assert write(bundle(ONE, "skills", "s1"), tmp_path, "s1").removed == ()


@pytest.mark.parametrize("form", ["skills", "openviking"])
def test_what_a_person_changed_or_wrote_is_in_the_way(tmp_path, form):
    write(bundle(BOTH, form, "s1"), tmp_path, "s1")
    file = next(p for p in tmp_path.rglob("*.md") if "refund" in str(p))
    file.write_text(file.read_text().replace("twice", "never"))
    changed = bundle(policy(refund_order=REFUND.replace("twice", "thrice"), new="- New.\n"), form, "s1")
    with pytest.raises(RefusedError, match="changed by hand"):
        write(changed, tmp_path, "s1")
    assert "never" in file.read_text()
    assert not list(tmp_path.rglob("new*"))  # nothing was written
    write(changed, tmp_path, "s1", force=True)
    assert "thrice" in file.read_text()


def test_a_skill_of_another_store_is_in_the_way(tmp_path):
    write(bundle(ONE, "skills", "s2"), tmp_path, "s2")
    with pytest.raises(RefusedError):
        write(bundle(ONE, "skills", "s1"), tmp_path, "s1")


def test_links_and_folders_are_not_written_through(tmp_path):
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "AGENTS.md").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RefusedError, match="symbolic link"):
        write(bundle(ONE, "agents-md", "s1"), tmp_path / "AGENTS.md", "s1")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "refund-order").symlink_to(tmp_path)
    with pytest.raises(RefusedError, match="symbolic link"):
        write(bundle(ONE, "skills", "s1"), tmp_path / "skills", "s1")
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert not (tmp_path / "SKILL.md").exists()
    with pytest.raises(RefusedError, match="is a directory"):
        write(bundle(ONE, "json", "s1"), tmp_path, "s1")


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot write"):
        write(bundle(ONE, "json", "s1"), tmp_path / "file" / "out.json", "s1")
    (tmp_path / "CLAUDE.md").write_bytes(b"\xff")
    with pytest.raises(UsageError, match="not UTF-8"):
        write(bundle(ONE, "claude-md", "s1"), tmp_path / "CLAUDE.md", "s1")


def test_a_file_keeps_its_mode(tmp_path):
    file = tmp_path / "AGENTS.md"
    file.write_text("# Mine\n")
    file.chmod(0o640)
    write(bundle(ONE, "agents-md", "s1"), file, "s1")
    assert file.stat().st_mode & 0o777 == 0o640
    assert file.read_text().startswith("# Mine\n\n<!-- xpstore:begin store=s1 ")


def test_json_that_somebody_wrote_or_changed_is_in_the_way(tmp_path):
    (tmp_path / "x.json").write_text('{"mine": 1}')
    with pytest.raises(RefusedError, match="no export"):
        write(bundle(ONE, "json", "s1"), tmp_path / "x.json", "s1")
    write(bundle(ONE, "json", "s1"), tmp_path / "y.json", "s1")
    with pytest.raises(RefusedError, match="no export of this store"):
        write(bundle(BOTH, "json", "s2"), tmp_path / "y.json", "s2")
    file = tmp_path / "y.json"
    file.write_text(file.read_text().replace("twice", "never"))
    with pytest.raises(RefusedError, match="changed by hand"):
        write(bundle(BOTH, "json", "s1"), file, "s1")


def test_files_of_openviking_that_are_no_more_go_unless_they_are_of_others(tmp_path):
    write(bundle(BOTH, "openviking", "s1"), tmp_path, "s1")
    write(bundle(policy(theirs="- x\n"), "openviking", "s2"), tmp_path, "s2")
    (tmp_path / "mine.md").write_text("- Mine.\n")
    assert write(bundle(ONE, "openviking", "s1"), tmp_path, "s1").removed == ("退款.md",)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.md", "refund-order.md", "theirs.md"]


def test_whatever_others_have_in_the_folder_is_no_error(tmp_path):
    for name in ("link", "binary", "pipe", "folder"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine.md").write_text("x")
    (tmp_path / "link" / "SKILL.md").symlink_to(tmp_path / "mine.md")
    (tmp_path / "binary" / "SKILL.md").write_bytes(b"\xff")
    os.mkfifo(tmp_path / "pipe" / "SKILL.md")
    (tmp_path / "folder" / "SKILL.md").mkdir()
    assert write(bundle(ONE, "skills", "s1"), tmp_path, "s1").removed == ()
    os.mkfifo(tmp_path / "AGENTS.md")
    with pytest.raises(UsageError, match="no ordinary file"):
        write(bundle(ONE, "agents-md", "s1"), tmp_path / "AGENTS.md", "s1")


FAKES = """- xp-digest=0123456789abcdef

    xp-digest: '0123456789abcdef'

<!-- MEMORY_FIELDS
{
  "xp_digest": "0123456789abcdef"
-->
"""


@pytest.mark.parametrize("form", FORMATS)
def test_text_that_looks_like_a_digest_is_none(tmp_path, form):
    text = f'---\ndescription: "xp_digest=0123456789abcdef"\nlicense: "a\\n  xp-digest: \\n"\n---\n{FAKES}'
    write(bundle(policy(fake=text), form, "s1"), tmp_path / "out", "s1")
    (file,) = (p for p in (tmp_path / "out", *(tmp_path / "out").rglob("*")) if p.is_file())
    assert file.read_text().count("0123456789abcdef") >= 4
    write(bundle(policy(fake=text + "\n- More.\n"), form, "s1"), tmp_path / "out", "s1")
    assert "More." in file.read_text()


def test_many_stores_may_write_one_file_at_once(tmp_path):
    file = tmp_path / "AGENTS.md"
    with ThreadPoolExecutor(8) as pool:
        stores = [f"s{number}" for number in range(16)]
        list(pool.map(lambda store: write(bundle(ONE, "agents-md", store), file, store), stores))
    assert sorted(b.store for b in blocks(file.read_text(), "x")) == sorted(stores)


@pytest.mark.parametrize("form", ["skills", "json"])
def test_nothing_stays_of_a_file_that_could_not_be_written(tmp_path, monkeypatch, form):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write(bundle(ONE, form, "s1"), tmp_path / "new" / "out", "s1")
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == []
    assert not (tmp_path / "new" / "out").is_dir() or list((tmp_path / "new" / "out").iterdir()) == []
