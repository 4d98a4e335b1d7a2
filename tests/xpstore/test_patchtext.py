from __future__ import annotations

import pytest

from xpstore import patchtext
from xpstore.errors import FormatError
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.patchfile import write_patch

BEFORE = "## Approach\n\n- Look first.\n"
AFTER = "## Approach\n\n- Look first.\n- @@ is text.\n"


def gradient(**fields: object) -> PatchSemanticGradient:
    values = {
        "before_file": MemoryFile(name="退票", content=BEFORE),
        "after_file": MemoryFile(name="退票", content=AFTER),
        "rationale": "Twice.\n\n---\n@@ -1 +1 @@\n+- Not this.",
        "confidence": 0.25,
        "rollouts": ("aa", "bb"),
        "evidence_trajectory_uris": ("trajectories/00/x.md",),
        **fields,
    }
    return PatchSemanticGradient.model_validate(values)


def test_it_says_what_the_gradient_says():
    written = gradient()
    patch = patchtext.read(write_patch(written), "plan")
    assert (patch.gradient_id, patch.experience, patch.confidence) == (written.id, "退票", 0.25)
    assert (patch.rollouts, patch.notes) == (written.rollouts, written.evidence_trajectory_uris)
    assert patch.rationale == written.rationale
    assert (patch.before, patch.after) == (BEFORE, AFTER)
    assert patch.added == {"- @@ is text."}


@pytest.mark.parametrize("side", ["before_file", "after_file"])
def test_a_page_that_comes_or_goes_has_one_side(side: str):
    patch = patchtext.read(write_patch(gradient(**{side: None})), "plan")
    assert (patch.before, patch.after) == (("\n", AFTER) if side == "before_file" else (BEFORE, "\n"))


@pytest.mark.parametrize("data", [b"", b"nonsense", b"From x\n\nConfidence: much\n\n    why\n---\n"])
def test_what_is_no_patch_is_an_error_that_names_the_plan(data: bytes):
    with pytest.raises(FormatError, match="abc"):
        patchtext.read(data, "abc")
