import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.builders import texts
from tests.pages_of_others import CHINESE, REFUND, pages, policy
from xpstore.document import Document
from xpstore.errors import InvalidNameError, LimitError, RefusedError, UsageError
from xpstore.exchange import openviking
from xpstore.exchange.bundle import bundle
from xpstore.exchange.foreign import read_any
from xpstore.exchange.write import write
from xpstore.experience import Experience, ExperienceSet
from xpstore.init import init
from xpstore.names import fold
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


FILES = {
    "booking_cancellation": {
        "experience_name": "Booking Cancellation",
        "status": "draft",
        "version": 2,
        "supersedes": "old rule",
        "links": [{"from_uri": "a", "to_uri": "b", "match_text": None}],
        "memory_type": "experiences",
    },
    "退票": {
        "experience_name": "退票",
        "status": "hot",
        "name": "n",
        "a": {"b": [1, "-->"]},
        "backlinks": [],
    },
    "plain": None,
}
TEXT = "## Situation\n- One.\n## Approach\n- IF two THEN three.\n- Four.\n## Reflect\n- Never five.\n"


def openviking_file(fields: dict[str, object] | None) -> str:
    told = json.dumps(fields, ensure_ascii=False, indent=2).replace("-->", "--\\u003e")
    return f"{TEXT}\n<!-- MEMORY_FIELDS\n{told}\n-->" if fields else TEXT


def test_a_directory_of_openviking_comes_back_with_every_statement_and_field_or_is_told(tmp_path):
    folder = tmp_path / "experiences"
    folder.mkdir()
    for name, fields in FILES.items():
        (folder / f"{name}.md").write_text(openviking_file(fields))
    (folder / "a_case.md").write_text('- x\n\n<!-- MEMORY_FIELDS\n{"memory_type": "cases"}\n-->\n')
    for name in (".overview.md", ".abstract.md"):
        (folder / name).write_text("A summary.\n")
    found = read_any(tmp_path)
    assert sorted(found.left_out) == [
        ".abstract.md",
        ".overview.md",
        "a_case.md: its memory_type is 'cases'",
        "booking_cancellation.md: links: 1 of them",
        "booking_cancellation.md: version: 2",
        "退票.md: backlinks: 0 of them",
    ]
    location = init(tmp_path / "store", source=found)
    out = tmp_path / "out"
    made = bundle(snapshot(location, "main"), "openviking", "s1", everything=True)
    assert made.left_out == {}
    write(made, out, "s1")
    names = {"Booking-Cancellation": "booking_cancellation", "退票": "退票", "plain": "plain"}
    assert {p.stem for p in out.iterdir()} == set(names)
    for name, before in names.items():
        text = (out / f"{name}.md").read_text()
        body, _, told = text.partition("\n<!-- MEMORY_FIELDS\n")
        assert body == TEXT
        fields = json.loads(told.removesuffix("\n-->\n"))
        given = {key: value for key, value in (FILES[before] or {}).items() if key not in openviking.NO_PLACE}
        assert {key: fields.pop(key) for key in given} == given
        assert set(fields) <= {"xp_digest", "xp_store", "memory_type", "experience_name"}


def test_a_project_is_its_files_for_agents_and_its_skills(tmp_path):
    skill = tmp_path / ".claude" / "skills" / "pdf" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: pdf\ndescription: d\n---\n- Look.\n")
    (tmp_path / "CLAUDE.md").write_text("- Use tabs.\n")
    (tmp_path / "AGENTS.md").symlink_to("CLAUDE.md")
    (tmp_path / "src").mkdir()
    (tmp_path / "README.md").write_text("Not for agents.\n")
    found = read_any(tmp_path)
    assert (found.names, found.left_out) == (["claude-md", "pdf"], ("AGENTS.md: a symbolic link",))
    assert read_any(tmp_path / ".claude").names == ["pdf"]
    (tmp_path / "experiences").mkdir()
    (tmp_path / "experiences" / "own.md").write_text("- Own.\n")
    assert read_any(tmp_path).names == ["own"]  # a store's own files come first


def test_a_file_that_was_made_a_page_and_has_it_in_its_block_too_is_read_once(tmp_path):
    file = tmp_path / "CLAUDE.md"
    file.write_text("# The shop\n\n- Use tabs.\n")
    location = init(tmp_path / "store", source=read_any(file))
    write(bundle(snapshot(location, "main"), "claude-md", "s1"), file, "s1")
    assert read_any(file).names == ["claude-md"]
    with file.open("a") as more:
        more.write("- More.\n")
    assert read_any(file).names == ["claude-md", "claude-md-2"]


def test_a_file_that_is_too_long_for_a_page_says_so(tmp_path):
    (tmp_path / "CLAUDE.md").write_text("- A line of many.\n" * 5_000)
    with pytest.raises(LimitError, match=r"CLAUDE\.md: bytes: 90") as caught:
        read_any(tmp_path / "CLAUDE.md")
    assert "split" in caught.value.hint


def test_the_name_of_a_page_is_that_of_its_file_whatever_its_front_matter_says(tmp_path):
    made = policy(mine="---\nname: other\n---\n- x\n")
    for form in ("skills", "openviking", "agents-md"):
        write(bundle(made, form, "s1"), tmp_path / form, "s1")
        assert read_any(tmp_path / form).names == ["mine"]


@pytest.mark.parametrize("form", ["skills", "openviking", "agents-md"])
@settings(max_examples=15)
@given(st.lists(pages(), max_size=4, unique_by=lambda page: fold(page.name)))
def test_whole_stores_come_back_from_real_files(form, drawn):
    given_pages = tuple(Experience(name=page.name, text=page.text()) for page in drawn)
    made = ExperienceSet(root_uri="experiences", policies=given_pages, snapshot_id="c" * 40)
    exported = bundle(made, form, "s1", everything=True, figures=True)
    assume(exported.names)
    with TemporaryDirectory() as folder:
        out = Path(folder) / ("AGENTS.md" if form == "agents-md" else "out")
        write(exported, out, "s1")
        found = read_any(out)
    back = {name: found.files[f"experiences/{name}.md"].decode() for name in found.names}
    before = {e.name: e.text for e in given_pages if e.name in exported.names}
    assert statements(back) == statements(before)
    fronts = [{name: Document.parse(text).front for name, text in some.items()} for some in (back, before)]
    assert fronts[0] == fronts[1]
