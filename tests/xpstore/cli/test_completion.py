from __future__ import annotations

import json

import pytest

from xpstore.cli.main import run


@pytest.mark.parametrize(
    ("shell", "marker"),
    [("bash", "complete -o nosort -F"), ("zsh", "#compdef xp"), ("fish", "complete --no-files --command xp")],
)
def test_each_shell_gets_its_code(shell, marker, capsys):
    assert run(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert marker in out
    assert "_XP_COMPLETE" in out


def test_the_code_as_json(capsys):
    assert run(["completion", "fish"]) == 0
    code = capsys.readouterr().out
    assert run(["completion", "fish", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["shell"] == "fish"
    assert answer["code"] + "\n" == code
