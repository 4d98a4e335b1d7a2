from __future__ import annotations

from dataclasses import replace

import pytest

from hooks.belief import HELD, Court, Disbelief
from hooks.trust import Trust
from tests.builders import git
from tests.gated import HARM, make_key
from xpstore import evidence, gate_record, signing
from xpstore.gate_signature import NAMESPACE
from xpstore.location import Location


def signers(desk, *, namespace="xp-gate"):
    file = desk.key.with_name("signers")
    file.write_text(f'ci namespaces="{namespace}" {desk.key.with_suffix(".pub").read_text()}')
    return file


def why_not(desk, old, record, trust=None):
    """Return why a record does not count; "" where it does."""
    court = Court(desk.loc, old, desk.loc.repo.ref(desk.loc.evidence_ref), trust or Trust(signers(desk)))
    (found,) = (f for f in court.decisions({record.experiences}) if f.record == record)
    try:
        court.check(found)
    except Disbelief as error:
        return error.why
    return ""


def candidate(desk):
    return desk.main, desk.learn("refunds", "Ask for the receipt.")


def test_a_signed_decision_that_can_be_made_again_counts(desk):
    old, new = candidate(desk)
    assert why_not(desk, old, desk.accepted(old, new)) == ""


def test_a_decision_that_nobody_signed_or_a_stranger_does_not(desk, tmp_path):
    old, new = candidate(desk)
    record = desk.gate(old, new)
    assert why_not(desk, old, record) == "nobody has signed the gate's record"
    desk.sign(record, key=make_key(tmp_path, "stranger"))
    assert "no allowed signer has this key" in why_not(desk, old, record)


def test_one_good_signature_among_others_will_do(desk, tmp_path):
    old, new = candidate(desk)
    record = desk.gate(old, new)
    for number in range(3):
        desk.sign(record, key=make_key(tmp_path, f"stranger-{number}"))
    desk.attach(record, "garbage")
    desk.sign(record)
    assert why_not(desk, old, record) == ""


@pytest.mark.parametrize("namespace", ["git", "file"])
def test_a_signature_for_something_else_is_worth_nothing(desk, namespace):
    old, new = candidate(desk)
    record = desk.gate(old, new)
    desk.sign(record, namespace=namespace)
    assert "is not accepted" in why_not(desk, old, record)


def test_a_signature_of_another_record_is_worth_nothing(desk):
    old, new = candidate(desk)
    good, other = desk.gate(old, new), desk.gate(old, new, reason="another one")
    desk.attach(other, signing.sign(gate_record.as_file(good).data, NAMESPACE, str(desk.key)))
    assert "is not accepted" in why_not(desk, old, other)


def test_a_server_without_signers_believes_only_itself(desk, tmp_path):
    old, new = candidate(desk)
    record = desk.accepted(old, new)
    assert why_not(desk, old, record, Trust()).endswith("xp.allowedSigners is not set")
    assert why_not(desk, old, record, Trust(tmp_path / "gone")).endswith("names no file")


def test_what_the_server_holds_itself_needs_no_signature(desk):
    old, new = candidate(desk)
    record = desk.gate(old, new)
    held = desk.loc.repo.common_dir / HELD
    held.mkdir()
    (held / f"{record.id}.json").write_bytes(gate_record.as_file(record).data)
    assert why_not(desk, old, record, Trust()) == ""
    for path in record.evaluations:  # figures that are only here will do
        (held / path.rpartition("/")[2]).write_bytes(evidence.read(desk.loc, path))
    git(desk.root, "branch", "-q", "-D", "xp/evidence")
    git(desk.root, "reflog", "expire", "--expire=all", "--all")
    assert why_not(desk, old, record, Trust()) == ""
    (held / f"{record.id}.json").rename(held / f"{'0' * 20}.json")
    assert "was altered" in why_not(desk, old, record, Trust())


@pytest.mark.parametrize(
    ("failing", "fields", "wanted"),
    [
        (HARM, {}, "the gate says reject: it is worse"),
        (HARM, {"decision": "accept"}, "decided again, the gate says reject: it is worse"),
        (CASE := ["case-00"], {"decision": "accept"}, "decided again, the gate says inconclusive"),
        (CASE, {"decision": "accept", "decided_by": "person: Pat"}, ""),
        (HARM, {"decision": "accept", "decided_by": "person: Pat"}, "decided again, the gate says reject"),
        ((), {"decided_by": "none"}, "it was landed without a gate"),
        ((), {"leaks": ("it quotes case-01",)}, "it quotes cases that it must not know: it quotes case-01"),
        ((), {"suite": "test"}, "it was measured on suite 'test'; 'gate' decides"),
        ((), {"suite_digest": "0" * 20}, "it was measured on other cases than main has"),
        ((), {"evaluations": ("", "")}, "the evaluations that the gate's record names are not on record"),
    ],
)
def test_a_signed_record_is_checked_all_the_same(desk, failing, fields, wanted):
    old, new = candidate(desk)
    record = desk.gate(old, new, failing, **fields)
    desk.sign(record)
    assert why_not(desk, old, record).startswith(wanted or "\0") == bool(wanted), why_not(desk, old, record)
    assert bool(why_not(desk, old, record)) == bool(wanted)


def test_the_one_whose_push_is_refused_hears_what_got_worse(desk):
    old, new = candidate(desk)
    record = desk.gate(old, new, HARM, decision="accept")
    desk.sign(record)
    assert "; worse: case-00 4/4 to 0/4, case-01 4/4 to 0/4, " in why_not(desk, old, record)


def test_figures_of_other_experiences_do_not_count(desk):
    old, new = candidate(desk)
    other = desk.learn("returns", "Wait.")
    good = desk.gate(old, new)
    record = desk.gate(old, other, evaluations=good.evaluations)
    desk.sign(record)
    assert why_not(desk, old, record) == "its evaluations are of other experiences than it says"
    swapped = desk.gate(old, new, evaluations=good.evaluations[::-1])
    desk.sign(swapped)
    assert why_not(desk, old, swapped) == "its evaluations are of other experiences than it says"


def test_a_record_under_another_name_is_no_record(desk):
    old, new = candidate(desk)
    record = desk.gate(old, new)
    file = gate_record.as_file(record)
    evidence.write(desk.loc, [evidence.EvidenceFile("gates/00/" + "0" * 20 + ".json", file.data)], "Forge")
    court = Court(desk.loc, old, desk.loc.repo.ref(desk.loc.evidence_ref), Trust(signers(desk)))
    forged = next(f for f in court.decisions({record.experiences}) if "/00/" in f.path)
    with pytest.raises(Disbelief, match="was altered"):
        court.check(forged)


def test_what_is_no_record_is_passed_over(desk):
    old, new = candidate(desk)
    record = desk.accepted(old, new)
    tree = record.experiences.encode()
    evidence.write(desk.loc, [evidence.EvidenceFile("gates/00/x.json", b'{"experiences": "%s"}' % tree)], "x")
    assert why_not(desk, old, record) == ""


def test_the_thresholds_are_those_of_main_and_not_those_of_the_record(desk):
    old, new = candidate(desk)
    lenient = desk.loc.config.gate.__class__(alpha=1e-6, margin=1.0)
    record = desk.gate(old, new, HARM, policy=lenient, decision="accept")
    desk.sign(record)
    assert why_not(desk, old, record).startswith("decided again, the gate says reject")


def test_figures_of_another_world_than_main_names_do_not_count(desk):
    config = desk.root / "xp.toml"
    config.write_text(f'{config.read_text()}\n[environment]\nname = "easy"\n')
    git(desk.root, "commit", "-q", "-a", "-m", "Name a world")
    there = replace(desk, loc=Location.find(desk.root))
    old, new = candidate(there)
    assert why_not(there, old, there.accepted(old, new)) == "it was measured in no world, main names easy"
