from __future__ import annotations

import copy
import pickle

import pytest

from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.experience import Experience, ExperienceSet, MemoryFile, experience_uri

TEXT = "---\nname: refund\ndescription: When money goes back\nstatus: {status}\n---\n\n- Check first.\n"


def page(name="refund", status="production"):
    return Experience(name=name, text=TEXT.format(status=status))


def test_what_a_file_says_is_read_on_demand():
    one = page()
    assert one.uri == "experiences/refund.md"
    assert one.description == "When money goes back"
    assert one.status == "production"
    assert "Check first." in one.content
    assert "---" not in one.content
    assert one.metadata["name"] == "refund"


def test_a_file_without_front_matter_is_in_production():
    plain = Experience(name="notes", text="Just text.\n")
    assert (plain.status, plain.description, plain.metadata) == ("production", "", {})


def test_an_unknown_status_is_not_served():
    assert page(status="prodution").status == "draft"


def test_broken_front_matter_is_an_error_that_names_the_file():
    with pytest.raises(DocumentError, match="broken"):
        _ = Experience(name="broken", text="---\na: [\n---\n").status


def test_agents_get_production_and_staging():
    pages = tuple(
        page(name, status)
        for name, status in (
            ("a", "production"),
            ("b", "draft"),
            ("c", "staging"),
            ("d", "deprecated"),
            ("e", "archived"),
        )
    )
    policy = ExperienceSet(root_uri="experiences", policies=pages)
    assert [p.name for p in policy.served()] == ["a", "c"]
    assert policy.get("b") is pages[1]
    assert policy.get("z") is None


def test_a_memory_file_knows_its_fields():
    file = MemoryFile(name="refund", content=TEXT.format(status="draft"))
    assert file.uri == experience_uri("refund")
    assert file.fields["status"] == "draft"


@pytest.mark.parametrize("version", [None, 3])
def test_what_is_read_is_like_what_is_made(version: int | None):
    text = TEXT.format(status="draft")
    made = Experience(name="refund", text=text, version=version)
    kept = pickle.dumps(Experience.read("refund", text, version))
    for read in (
        Experience.read("refund", text, version),
        Experience.parsed("refund", Document.parse(text), version),
        copy.deepcopy(Experience.read("refund", text, version)),
        pickle.loads(kept),  # noqa: S301 - our own
    ):
        assert read == made
        assert made == read
        assert hash(read) == hash(made)
        assert repr(read) == repr(made)
        assert read.model_dump_json() == made.model_dump_json()
        assert ExperienceSet(root_uri="", policies=(read,)) == ExperienceSet(root_uri="", policies=(made,))
        other = read.model_copy(update={"text": "x"})
        assert (other.text, other.content, read.status) == ("x", "x", "draft")
        with pytest.raises(ValueError, match="frozen"):
            read.name = "other"
    assert Experience.read("b", "").model_fields_set == {"name", "text", "version"}
