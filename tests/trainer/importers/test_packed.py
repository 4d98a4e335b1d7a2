import gzip
import io
import json
import os
import tracemalloc
import zipfile

import pytest

from tests.recordings import eval_file, inspect, lines, sample
from trainer.importers import packed, read_rollouts
from trainer.importers.jsontext import RecordError
from trainer.importers.packed import Unzipped, eval_records
from trainer.importers.source import read_records
from xpstore.errors import UsageError

CHAT = {"messages": [{"role": "user", "content": "x"}], "score": 1}


def archive(method=zipfile.ZIP_DEFLATED, **files):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as opened:
        for name, data in files.items():
            opened.writestr(name.replace("__", "/"), data)
    return made.getvalue()


def records(data, limit=1 << 20):
    return list(eval_records(io.BytesIO(data), limit))


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_log_in_a_zip_is_the_log(tmp_path, method):
    log = inspect(sample(), sample(2), sample(2, epoch=2))
    (tmp_path / "a.eval").write_bytes(eval_file(log, method))
    (tmp_path / "a.json").write_text(json.dumps(log, indent=1))
    found = read_rollouts([tmp_path / "a.eval"])
    assert found.rollouts == read_rollouts([tmp_path / "a.json"]).rollouts
    assert len(found.rollouts) == 3


def test_a_log_that_was_not_finished_has_its_head_in_the_journal():
    head = {key: value for key, value in inspect().items() if key != "samples"}
    data = archive(
        **{"_journal/start.json": json.dumps(head), "samples/1_epoch_1.json": json.dumps(sample())}
    )
    assert len(records(data)) == 1


def test_nan_in_what_sums_it_up_does_no_harm():
    log = inspect()
    log["results"] = {"scores": [{"metrics": {"stderr": {"value": float("nan")}}}]}
    ((_, value),) = records(eval_file(log))
    assert value["samples"] == [sample()]
    assert "results" not in value


def test_a_broken_sample_never_stops_the_rest():
    files = {"header.json": json.dumps(inspect() | {"samples": None})}
    files |= {"samples/a.json": "{", "samples/b.json": json.dumps(sample()), "samples/c.json": b"\xff"}
    found = records(archive(**files))
    assert [type(value) for _, value in found] == [RecordError, dict, RecordError]
    assert [name for name, _ in found] == ["samples/a.json", "samples/b.json", "samples/c.json"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (archive(**{"a.txt": "x"}), "no log of Inspect"),
        (archive(**{"header.json": "{}"}), "holds no samples"),
        (archive(**{"header.json": "[]"}), "header.json is not a JSON object"),
        (archive(**{"header.json": "{"}), "not valid JSON"),
        (b"PK\x03\x04 and nothing", "zip archive is damaged"),
        (eval_file(inspect())[:-60], "zip archive is damaged"),
    ],
)
def test_archives_that_are_none(data, why):
    with pytest.raises(RecordError, match=why):
        records(data)


def test_damage_within():
    data = bytearray(eval_file(inspect()))
    data[data.index(b"samples/1") + 60] ^= 0xFF
    ((_, value),) = records(bytes(data))
    assert "damaged" in str(value)


def test_zstandard_is_named():
    data = eval_file(inspect(), zipfile.ZIP_STORED)
    for signature, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = -1
        while (place := data.find(signature, place + 1)) >= 0:
            data = data[: place + at] + b"\x5d\x00" + data[place + at + 2 :]
    with pytest.raises(RecordError, match="zstandard"):
        records(data)


def test_a_bomb_is_not_unpacked():
    bomb = archive(**{"header.json": json.dumps({"eval": {}}), "samples/1.json": b" " * (64 << 20)})
    assert len(bomb) < 1 << 20
    tracemalloc.start()
    ((_, value),) = records(bomb)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "more than 1 MB" in str(value)
    assert peak < 4 << 20


def test_many_files_and_bytes(monkeypatch):
    data = eval_file(inspect(sample(), sample(2)))
    monkeypatch.setattr(packed, "FILES", 3)
    with pytest.raises(RecordError, match="more than 3 files"):
        records(data)
    monkeypatch.setattr(packed, "FILES", 30)
    monkeypatch.setattr(packed, "UNPACKED", 100)
    with pytest.raises(RecordError, match="holds more than"):
        records(data)


def test_names_in_an_archive_are_no_paths():
    head = json.dumps({"eval": {"task": "t"}, "status": "success"})
    bad = {"header.json": head, "samples/../../x.json": "{}", "/samples/a.json": "{}", "samples/b.json": "{}"}
    assert [name for name, _ in records(archive(**bad))] == ["samples/b.json"]


def test_gzip(tmp_path):
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(lines([CHAT, {**CHAT, "score": 0}]).encode()))
    assert len(read_rollouts([file]).rollouts) == 2
    whole = file.read_bytes()
    rows = [{**CHAT, "trial": n, "pad": str(n) * 999} for n in range(300)]
    file.write_bytes(gzip.compress(lines(rows).encode())[:-20])
    found = read_rollouts([file])
    assert found.rollouts
    assert "gzip archive is damaged" in found.problems[-1].why
    file.write_bytes(gzip.compress(whole))
    with pytest.raises(UsageError, match="gzip archive in an archive"):
        read_rollouts([file])


def test_what_a_gzip_archive_holds_is_bounded():
    unzipped = Unzipped(io.BytesIO(gzip.compress(bytes(1 << 20))), limit=1000)
    assert len(unzipped.stream.read()) <= 1000
    assert "holds more than" in unzipped.flaw


def test_a_zip_from_a_pipe_is_refused_with_a_hint(tmp_path):
    read_end, write_end = os.pipe()
    os.write(write_end, eval_file(inspect()))
    os.close(write_end)
    path = tmp_path / "link"
    path.symlink_to(f"/dev/fd/{read_end}")
    (problem,) = read_records(path)
    os.close(read_end)
    assert "write it to a file first" in problem.why
