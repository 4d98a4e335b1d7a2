from __future__ import annotations

import click
import pytest

from trainer.cli.running import (
    Stages,
    check_report,
    describe_cases,
    describe_stage,
    running_options,
    write_report,
)
from trainer.report import CaseScore, Stage
from xpstore.cli.app import App
from xpstore.errors import UsageError, XpError
from xpstore.evaluation import TrialFailure


def failure(name, error):
    return TrialFailure(case="c", name=name, trial=0, seed=1, stage="execute", error=error)


STAGE = Stage(
    stage="eval",
    epoch=0,
    cases=3,
    n=4,
    passed=1,
    accuracy=0.25,
    interval=(0.04, 0.7),
    average_reward=0.25,
    failures=(*(failure(name, "burnt") for name in "bbcde"), failure("c", "late")),
)


def test_a_stage_is_its_line_its_remarks_and_what_could_not_be_scored():
    assert list(describe_stage(STAGE.line, STAGE)) == [
        "[eval] epoch=0 cases=3 accuracy=25.00% passed=1/4 avg_reward=0.250000",
        "  95% interval 4.00% to 70.00%, n=4; 6 trials could not be scored; the accuracy is of the others",
        "     5  b, c, d, …: burnt",
        "     1  c: late",
    ]


def test_cases_are_listed_worst_first():
    cases = (
        CaseScore(name="good", passed=4, n=4),
        CaseScore(name="bad", passed=1, n=4),
        CaseScore(name="broken", passed=0, n=0, failures=2),
    )
    assert list(describe_cases(cases)) == [
        "      0/0  broken  2 trials not scored",
        "      1/4  bad",
        "      4/4  good",
    ]


def test_bars_make_room_for_lines(capsys, monkeypatch):
    events = []

    class Bars:
        def __enter__(self):
            events.append("open")
            return lambda *call: events.append(call)

        def __exit__(self, *_):
            events.append("close")

    monkeypatch.setattr("trainer.cli.running.progress", Bars)
    with Stages() as stages:
        stages.progress("train_epoch", 1, 2)
        stages.progress("train_epoch", 2, 2)
        stages.say(iter(["a line"]))
        stages.progress("final_eval", 1, 1)
    assert events == [
        "open",
        ("train epoch", 1, 2),
        ("train epoch", 2, 2),
        "close",
        "open",
        ("final eval", 1, 1),
        "close",
    ]
    assert capsys.readouterr().out == "a line\n"


@pytest.mark.parametrize("remark", ["all is kept", ""])
def test_an_interrupt_says_what_becomes_of_the_rest(remark, capsys):
    with pytest.raises(KeyboardInterrupt), Stages(remark):
        raise KeyboardInterrupt
    assert capsys.readouterr().err.splitlines() == ([remark] if remark else [])


def test_a_report_is_checked_before_and_written_after(tmp_path):
    app = App(cwd=tmp_path)
    check_report(app, "r.json")
    write_report(app, "r.json", {"deutsch": "ä"})
    assert (tmp_path / "r.json").read_text(encoding="utf-8") == '{\n  "deutsch": "ä"\n}\n'
    for name in ("missing/r.json", "."):
        with pytest.raises(UsageError, match="cannot write a report"):
            check_report(app, name)
        with pytest.raises(XpError, match="cannot write"):
            write_report(app, name, {})


def test_the_options_have_bounds():
    @click.command()
    @running_options
    def verb(**given: object) -> None:
        click.echo(sorted(given))

    context = verb.make_context("verb", ["--concurrency", "3", "--time-limit", "0.5"])
    assert (context.params["parallel"], context.params["time_limit"]) == (3, 0.5)
    for bad in (["--concurrency", "0"], ["--time-limit", "0"], ["--seed", "-1"], ["--eval-limit", "0"]):
        with pytest.raises(click.UsageError):
            verb.make_context("verb", bad)
