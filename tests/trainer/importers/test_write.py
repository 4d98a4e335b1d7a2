import json
from pathlib import Path

import pytest

from tests.recordings import ALL
from trainer.importers import read_rollouts
from trainer.importers.write import Counts, to_line, whole_file
from xpstore.errors import XpError


@pytest.mark.parametrize("form", sorted(ALL))
def test_what_was_written_is_read_as_the_same(tmp_path, form):
    (tmp_path / "in").write_text(ALL[form])
    found = read_rollouts([tmp_path / "in"]).rollouts
    with whole_file(tmp_path / "out.jsonl") as out:
        for rollout in found:
            out.write(to_line(rollout))
    again = read_rollouts([tmp_path / "out.jsonl"])
    assert again.formats == {"RFC rollout": len(found)}
    assert [r.id for r in again.rollouts] == [r.id for r in found]


def test_counts(tmp_path):
    (tmp_path / "in").write_text(ALL["atif"])
    counts = Counts()
    counts.add(read_rollouts([tmp_path / "in"]).rollouts[0], "ATIF")
    assert (counts.rollouts, counts.messages, counts.tool_calls, counts.results, counts.errors) == (
        1,
        4,
        3,
        2,
        1,
    )
    assert (counts.scored, counts.passed, counts.formats) == (0, 0, {"ATIF": 1})


def test_a_file_is_whole_or_as_it_was(tmp_path):
    file = tmp_path / "out"
    file.write_text("before")

    def broken():
        with whole_file(file) as out:
            out.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert file.read_text() == "before"
    with pytest.raises(XpError, match="cannot write"), whole_file(tmp_path / "none" / "out"):
        pass


def test_a_device_is_written_to():
    with whole_file(Path("/dev/null")) as out:
        out.write(json.dumps({}).encode())
