from __future__ import annotations

import pytest

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
