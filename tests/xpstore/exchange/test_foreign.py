import pytest

from tests.builders import texts
from tests.pages_of_others import CHINESE, REFUND, policy
from xpstore.document import Document
from xpstore.errors import InvalidNameError, RefusedError, UsageError
from xpstore.exchange.bundle import bundle
from xpstore.exchange.foreign import read_any
from xpstore.exchange.write import write
from xpstore.init import init
from xpstore.snapshot import snapshot

BOTH = policy(refund_order=REFUND, 退款=CHINESE)


def statements(texts: dict[str, str]) -> dict[str, list[tuple[str, str]]]:
    return {
        name: [(s.section, s.key) for s in Document.parse(text).statements()] for name, text in texts.items()
    }


@pytest.mark.parametrize("form", ["skills", "openviking", "agents-md", "claude-md"])
def test_a_store_of_an_export_has_every_statement_and_exports_the_same(tmp_path, form):
    out = tmp_path / ("AGENTS.md" if form.endswith("md") else "out")
    write(bundle(BOTH, form, "s1"), out, "s1")
    found = read_any(out)
    assert (found.names, found.left_out) == (["refund-order", "退款"], ())
    location = init(tmp_path / "store", source=found)
    assert statements(texts(location, "main")) == statements({e.name: e.text for e in BOTH.policies})
    again = bundle(snapshot(location, "main"), form, "s1")
    assert write(again, out, "s1").written == ()


def test_a_file_of_a_project_is_a_page_that_is_always_read(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("# The shop\n\n- Use tabs.\n\n## Tests\n\n- Run them.\n")
    found = read_any(tmp_path / "CLAUDE.md")
    page = Document.parse(found.files["experiences/claude-md.md"].decode())
    assert (page.front["description"], page.front["always"]) == ("The shop", True)
    assert [(s.section, s.key) for s in page.statements("Tests")] == [("Tests", "Run them.")]


def test_around_a_block_and_in_it(tmp_path):
    (tmp_path / "AGENTS.md").write_text("- Mine.\n")
    write(bundle(BOTH, "agents-md", "s1"), tmp_path / "AGENTS.md", "s1")
    with (tmp_path / "AGENTS.md").open("a") as file:
        file.write("\n- Below.\n")
    assert read_any(tmp_path / "AGENTS.md").names == ["agents-md", "refund-order", "退款"]


def test_other_files_of_a_skill_are_told(tmp_path):
    for name in ("pdf", "docs"):
        (tmp_path / name / "scripts").mkdir(parents=True)
    (tmp_path / "pdf" / "SKILL.md").write_text("---\nname: pdf\ndescription: d\n---\n- Look.\n")
    (tmp_path / "notes.txt").write_text("x")
    found = read_any(tmp_path)
    assert (found.names, found.left_out) == (["pdf"], ("docs", "notes.txt", "pdf/scripts"))
    assert read_any(tmp_path / "pdf").names == ["pdf"]


def test_an_openviking_memory_folder_is_found_below(tmp_path):
    folder = tmp_path / "experiences"
    folder.mkdir()
    (folder / "a b.md").write_text('- A.\n\n<!-- MEMORY_FIELDS\n{"version": 2, "links": []}\n-->\n')
    (folder / ".overview.md").write_text("summary")
    (folder / "plain.md").write_text("- P.\n")
    found = read_any(tmp_path)
    assert found.names == ["a-b", "plain"]
    assert found.left_out == (".overview.md", "a b.md: version: 2", "a b.md: links: 0 of them")


def test_a_folder_of_a_store_is_read_as_before(tmp_path):
    (tmp_path / "experiences").mkdir()
    (tmp_path / "experiences" / "a.md").write_text("- A.\n")
    assert read_any(tmp_path).names == ["a"]


def test_the_first_file_that_can_be_no_page_is_named(tmp_path):
    skill = tmp_path / "pdf" / "SKILL.md"
    skill.parent.mkdir()
    skill.write_text("---\nname: ../../etc\n---\n- x\n")
    with pytest.raises(InvalidNameError, match=str(skill)):
        read_any(tmp_path)
    skill.write_text("---\nname: pdf\n---\n- x \u202e y\n")
    with pytest.raises(RefusedError, match=str(skill)):
        read_any(tmp_path)
    skill.write_text("---\nname: pdf\n---\n- x\n")
    (tmp_path / "doc").mkdir()
    (tmp_path / "doc" / "SKILL.md").write_text("---\nname: PDF\n---\n- x\n")
    with pytest.raises(RefusedError, match="twin"):
        read_any(tmp_path)
    (tmp_path / "doc" / "SKILL.md").unlink()
    (tmp_path / "doc" / "SKILL.md").symlink_to(skill)
    with pytest.raises(RefusedError, match="symbolic link"):
        read_any(tmp_path)


def test_nothing_is_an_error(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("\n")
    with pytest.raises(UsageError, match="nothing that can be an experience"):
        read_any(tmp_path / "CLAUDE.md")
    with pytest.raises(UsageError):
        read_any(tmp_path / "missing")
