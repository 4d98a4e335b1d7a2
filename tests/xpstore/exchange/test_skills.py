import pytest
from hypothesis import given

from tests.pages_of_others import CHINESE, REFUND, pages, policy, statements
from xpstore.errors import FormatError
from xpstore.exchange import skills
from xpstore.exchange.bundle import bundle
from xpstore.exchange.stamp import is_intact
from xpstore.exchange.write import write
from xpstore.frontmatter import load, split


@given(pages())
def test_a_skill_reads_back_as_the_same_page(page):
    (folder,) = skills.folders([page.name]).values()
    text = skills.render(page, folder, "store1")
    assert is_intact(text, skills.STAMP)
    assert skills.store_of(text) == "store1"
    back = skills.read(text, folder, "SKILL.md")
    assert (back.name, dict(back.front)) == (page.name, {**page.front, "name": page.name})
    assert statements(back) == statements(page)


@given(pages())
def test_the_rules_of_skills_hold_for_every_page(page):
    (folder,) = skills.folders([page.name]).values()
    source, _ = split(skills.render(page, folder, "store1"))
    front = load(source or "")
    assert problems(front, folder) == []


def problems(front: dict[str, object], folder: str) -> list[str]:
    """The rules of agentskills.io for front matter, in our words."""
    name, description = front["name"], front["description"]
    allowed = {"name", "description", "license", "allowed-tools", "metadata", "compatibility"}
    found = [f"a key {key}" for key in front if key not in allowed]
    if name != folder or not 0 < len(name) <= 64 or name != name.lower():
        found.append(f"the name {name!r}")
    if not all(c.isalnum() or c == "-" for c in name) or name.strip("-") != name or "--" in name:
        found.append(f"the name {name!r}")
    if not description.strip() or len(description) > 1024:
        found.append("the description")
    if any(not isinstance(value, str) for value in front["metadata"].values()):
        found.append("metadata that is no text")
    return found


def test_names_that_would_be_one_folder_are_told_apart():
    found = skills.folders(["a-b", "A_b", "退款", "__", "क्या"])
    assert found["退款"] == "退款"
    assert len(set(found.values())) == 5
    assert min(found.values()).startswith("a-b")
    assert found["__"].startswith("xp-")


def test_the_skill_of_somebody_else_is_read_with_all_of_its_keys():
    text = (
        "---\nname: pdf\ndescription: Fill forms.\nlicense: MIT\nallowed-tools: Bash\n"
        "metadata:\n  author: me\n---\n\n# PDF\n\n- Look first.\n"
    )
    page = skills.read(text, "pdf", "SKILL.md")
    assert dict(page.front) == {
        "name": "pdf",
        "description": "Fill forms.",
        "license": "MIT",
        "allowed-tools": "Bash",
        "metadata": {"author": "me"},
    }
    assert page.body == "# PDF\n\n- Look first."


def test_keys_of_ours_that_are_no_json_are_named():
    with pytest.raises(FormatError, match=r"pdf/SKILL\.md"):
        skills.read("---\nname: pdf\nmetadata:\n  xp-front: '{'\n---\n", "pdf", "pdf/SKILL.md")
    assert skills.store_of("---\na: [\n---\n") == ""


def test_the_validator_of_the_convention_accepts_an_export(tmp_path):
    validator = pytest.importorskip("skills_ref.validator", reason="skills-ref is not installed")
    write(bundle(policy(refund_order=REFUND, 退款=CHINESE, a_b="- x\n"), "skills", "s1"), tmp_path, "s1")
    found = {folder.name: validator.validate(folder) for folder in tmp_path.iterdir()}
    assert found == {"refund-order": [], "退款": [], "a-b": []}
