from __future__ import annotations

import pytest
from pydantic import ValidationError

from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.hashing import blob_id


def gradient(before="old\n", after="new\n", **fields):
    values = {"rationale": "why", "confidence": 0.5, **fields}
    return PatchSemanticGradient(
        before_file=None if before is None else MemoryFile(name="refund", content=before),
        after_file=None if after is None else MemoryFile(name="refund", content=after),
        **values,
    )


def test_it_knows_its_target_and_blobs():
    one = gradient()
    assert one.target_experience_name == "refund"
    assert one.target_experience_uri == "experiences/refund.md"
    assert (one.base_blob, one.result_blob) == (blob_id("old\n"), blob_id("new\n"))


def test_a_new_file_and_a_deletion_have_one_side():
    assert gradient(before=None).base_blob == "0" * 40
    assert gradient(after=None).result_blob == "0" * 40
    assert gradient(after=None).target_experience_name == "refund"


def test_the_id_is_of_the_proposal_not_of_where_it_was_made():
    one = gradient()
    assert one.id == gradient(base_commit="c" * 40, base_version=7).id
    for other in (
        gradient(after="other\n"),
        gradient(before="other\n"),
        gradient(rationale="because"),
        gradient(rollouts=("r1",)),
        gradient(confidence=0.6),
        gradient(metadata={"family": "x"}),
    ):
        assert other.id != one.id


@pytest.mark.parametrize("confidence", [-0.1, 1.1])
def test_confidence_is_a_share(confidence):
    with pytest.raises(ValidationError):
        gradient(confidence=confidence)


def test_an_edit_of_nothing_is_no_edit():
    with pytest.raises(ValueError, match="before or after"):
        _ = gradient(before=None, after=None).target_experience_name
