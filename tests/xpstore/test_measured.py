from __future__ import annotations

import pytest

from tests.builders import make_store
from xpstore import measured

PATH = "evaluations/ab/abc.def.json"


@pytest.fixture
def loc(tmp_path):
    return make_store(tmp_path / "s")


def test_what_was_measured_here_is_known_by_its_name(loc):
    assert not measured.is_own(loc, PATH)
    measured.note(loc, PATH)
    measured.note(loc, PATH)
    assert measured.is_own(loc, PATH)
    assert not measured.is_own(loc, "evaluations/ab/abc.de.json")
    file = loc.repo.common_dir / f"xpstore.measured-{loc.config.id}"
    assert file.read_text() == "abc.def\n"


def test_a_list_that_cannot_be_written_is_no_error(loc):
    (loc.repo.common_dir / f"xpstore.measured-{loc.config.id}").mkdir()
    measured.note(loc, PATH)
