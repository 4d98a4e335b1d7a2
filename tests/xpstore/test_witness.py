from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from xpstore import evidence, witness
from xpstore.errors import RefusedError

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    loc = make_store(tmp_path / "s")
    write(loc, "one")
    return loc


def write(loc: Location, what: str) -> str:
    tip = evidence.write(loc, [evidence.json_file(f"evaluations/aa/{what}.json", {})], what)
    assert tip
    return tip


def test_writers_remember_the_tip(loc: Location):
    tip = write(loc, "two")
    assert witness.recall(loc) == witness.Seen(tip, 0)


def test_a_rewritten_branch_is_not_taken_for_the_seen_one(loc: Location):
    tip = write(loc, "two")
    git(loc.repo.place, "update-ref", loc.evidence_ref, f"{tip}~1")
    write(loc, "three")
    seen = witness.recall(loc)
    assert seen
    assert seen.tip == tip
    assert not witness.continues(loc, seen, evidence.tip(loc) or "")


def test_a_higher_generation_is_a_new_beginning(loc: Location):
    git(loc.repo.place, "update-ref", "-d", loc.evidence_ref)
    tip = evidence.write(loc, [evidence.EvidenceFile(witness.GENERATION, b"1\n")], "Forget")
    assert witness.recall(loc) == witness.Seen(tip or "", 1)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("1000000000\n", 10**9), ("9" * 18 + "\n", 10**18 - 1)),
        *((text, None) for text in ("9" * 19 + "\n", "abc\n", "0\n", "", "1", "\u0661\n", "9" * 5000)),
    ],
)
def test_a_number_is_read_as_far_as_one_is_written(loc: Location, text: str, number: int | None):
    git(loc.repo.place, "update-ref", "-d", loc.evidence_ref)
    tip = evidence.write(loc, [evidence.EvidenceFile(witness.GENERATION, text.encode())], "Forget") or ""
    assert (witness.generation(loc, tip), witness.is_nonsense(loc, tip)) == (number or 0, number is None)
    if number == 10**18 - 1:
        with pytest.raises(RefusedError, match=r"was forgotten 10+ times"):
            witness.following(loc, tip)
    else:
        assert witness.following(loc, tip) == f"{(number or 0) + 1}\n".encode()
    if number:
        assert witness.recall(loc) == witness.Seen(tip, number)


def test_a_fresh_clone_has_seen_nothing_and_nonsense_is_nothing(loc: Location):
    file = loc.repo.common_dir / f"xpstore.seen-{loc.config.id}"
    file.write_text("nonsense")
    assert witness.recall(loc) is None
    file.unlink()
    assert witness.recall(loc) is None
    file.mkdir()
    witness.remember(loc, evidence.tip(loc) or "")
    assert not list(loc.repo.common_dir.glob("xpstore.seen-*.*"))


@pytest.mark.parametrize("left", [b"", bytes(48), b"\xff\xfe", b"zzz 1\n", b"1" * 40, b"1" * 40 + b" x\n"])
def test_what_a_loss_of_power_left_is_as_in_a_fresh_clone(loc: Location, left: bytes):
    (file,) = loc.repo.common_dir.glob("xpstore.seen-*")
    file.write_bytes(left)
    assert witness.recall(loc) is None
    tip = write(loc, "two")
    assert witness.recall(loc) == witness.Seen(tip, 0)
