from __future__ import annotations

import pytest

from tests.builders import git
from tests.gated import make_desk
from xpstore import evidence, gate_record, gate_signature, signing
from xpstore.errors import RefusedError


@pytest.fixture
def desk(tmp_path):
    return make_desk(tmp_path)


def test_a_decision_is_signed_for_nothing_else_and_beside_it(desk):
    file = gate_record.as_file(desk.gate(desk.main, desk.learn("a")))
    git(desk.root, "config", "user.signingKey", str(desk.key.with_suffix(".pub")))
    path = gate_signature.sign(desk.loc, file.path, file.data)
    assert path.startswith(gate_signature.prefix_of(file.path))
    assert path.endswith(".sig")
    assert (
        gate_signature.sign(desk.loc, file.path, file.data) == path
    )  # such keys sign the same way each time
    signers = desk.key.with_name("signers")
    signers.write_text(f"ci {desk.key.with_suffix('.pub').read_text()}")
    text = evidence.read(desk.loc, path).decode()
    assert signing.verify(file.data, text, signers, "xp-gate").state == "good"
    assert signing.verify(file.data, text, signers, "git").state == "bad"


def test_without_a_key_it_says_which_setting_names_one(desk):
    with pytest.raises(RefusedError, match=r"signed here \(xp.signGates\)") as refused:
        gate_signature.sign(desk.loc, "gates/00/x.json", b"{}")
    assert "user.signingKey" in refused.value.hint


@pytest.mark.parametrize(("value", "wanted"), [("true", True), ("on", True), ("false", False)])
def test_a_machine_signs_only_where_it_was_told_to(desk, value, wanted):
    assert not gate_signature.is_wanted(desk.loc.repo)
    git(desk.root, "config", "xp.signGates", value)
    assert gate_signature.is_wanted(desk.loc.repo) is wanted
