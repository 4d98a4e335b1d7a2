import json

import pytest

from tests.recordings import atif, claude, entry, lines, step
from trainer.importers import Reading, joining, read_rollouts
from trainer.importers.atif import SIDE
from xpstore.errors import UsageError


def put(folder, **files):
    for name, value in files.items():
        text = lines(value) if isinstance(value, list) else json.dumps(value)
        (folder / name.replace("_", ".")).write_text(text)
    return sorted(folder.iterdir())


def texts(result):
    return [[m.text for m in rollout.messages] for rollout in result.rollouts]


def part(text, **more):
    return atif(steps=[step("agent", text)], **more)


def test_a_trajectory_goes_on_in_the_file_beside_it_whatever_comes_first(tmp_path):
    files = put(
        tmp_path,
        t_json=part("one", continued_trajectory_ref="t.cont-1.json"),
        **{"t.cont-1_json": part("two", continued_trajectory_ref="/elsewhere/t.cont-2.json")},
        **{"t.cont-2_json": part("three")},
    )
    for order in (files, files[::-1]):
        assert texts(read_rollouts(order)) == [["one", "two", "three"]]
    assert texts(read_rollouts(files[-1:])) == [["one"]]


def test_side_agents_in_files_of_their_own_are_joined(tmp_path):
    ref = {"subagent_trajectory_ref": [{"trajectory_path": "logs/side.json", "session_id": "x"}]}
    main = atif(steps=[step("agent", "Go.", [("c1", "task", {})], [{"source_call_id": "c1", **ref}])])
    (rollout,) = read_rollouts(put(tmp_path, main_json=main, side_json=part("I did."))).rollouts
    assert [(m.role, m.text) for m in rollout.messages] == [("assistant", "Go."), (SIDE, "I did.")]


def test_files_that_name_each_other_or_themselves_end(tmp_path):
    files = put(
        tmp_path,
        a_json=part("a", continued_trajectory_ref="b.json"),
        b_json=part("b", continued_trajectory_ref="a.json"),
        c_json=part("c", continued_trajectory_ref="c.json"),
    )
    assert sorted(texts(read_rollouts(files))) == [["a", "b"], ["c"]]


def test_no_file_is_opened_that_was_not_given(tmp_path):
    (tmp_path / "secret.json").write_text(json.dumps(part("secret")))
    (tmp_path / "in").mkdir()
    inside = part("a", continued_trajectory_ref="../secret.json")
    files = put(tmp_path / "in", a_json=inside, b_json=part("b"))
    assert texts(read_rollouts(files)) == [["a"], ["b"]]
    assert texts(read_rollouts([*files, tmp_path / "secret.json"])) == [["a"], ["b"], ["secret"]]


def test_a_session_goes_on_in_another_file(tmp_path):
    more = [entry("z", "s-1-4", "user", "Go on.", "s-2")]
    (found,) = texts(read_rollouts(put(tmp_path, a_jsonl=more, b_jsonl=claude())))
    assert found[-1] == "Go on."


def test_lines_of_unknown_kinds_are_told_once(tmp_path):
    odd = {"type": "brand-new", "value": 1}
    files = put(
        tmp_path, a_jsonl=[*claude(), odd, odd, {**entry("q", "s-1-4", "user", "x"), "version": "9.0.0"}]
    )
    result = read_rollouts(files)
    assert [(p.line, p.kind) for p in result.remarks] == [(6, "warning"), (8, "warning")]
    assert "'brand-new'" in result.remarks[0].why
    assert "'9.0.0'" in result.remarks[1].why
    assert (len(result.rollouts), result.problems) == (1, ())


def test_a_broken_line_of_a_session_never_stops_the_rest(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines(claude()) + '{"half": \n' + "[1]\n")
    result = read_rollouts([tmp_path / "a.jsonl"])
    assert len(result.rollouts) == 1
    assert [p.line for p in result.problems] == [6, 7]


def test_what_is_held_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(joining, "HELD", 10)
    files = put(tmp_path, a_jsonl=claude("a"), b_jsonl=claude("b", "Other."), c_json=part("c"))
    said = [text for rollout in texts(read_rollouts(files)) for text in rollout]
    assert sorted(set(said)) == [
        "I read.",
        "It is not there.",
        "Other.",
        "Read the file.",
        "c",
        "no such file",
    ]
    odd = [{"type": f"kind-{number}"} for number in range(99)]
    assert len(read_rollouts(put(tmp_path, d_jsonl=[*claude("d"), *odd])).remarks) == 20


@pytest.mark.parametrize(
    ("form", "name", "why"),
    [
        ("atif", "a.jsonl", "this is no record of atif"),
        ("claude-code", "c.json", "this is no record of claude-code"),
        ("swe-agent", "c.json", "this is no record of swe-agent, but one of atif"),
        ("xml", "c.json", "there is no format 'xml'"),
    ],
)
def test_a_format_that_is_forced(tmp_path, form, name, why):
    put(tmp_path, a_jsonl=claude(), c_json=part("c"))
    with pytest.raises(UsageError, match=why):
        read_rollouts([tmp_path / name], Reading(form))
    assert len(read_rollouts([tmp_path / "a.jsonl"], Reading("claude-code")).rollouts) == 1
    assert len(read_rollouts([tmp_path / "c.json"], Reading("atif")).rollouts) == 1
