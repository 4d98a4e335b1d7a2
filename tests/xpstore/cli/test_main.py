from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from xpstore.cli import main
from xpstore.cli.main import run
from xpstore.errors import Conflict, ConflictError, XpError


@pytest.fixture
def failing(monkeypatch):
    """Make `xp completion` raise an exception."""

    def install(error: BaseException) -> None:
        def fail(*_: object) -> None:
            raise error

        monkeypatch.setattr("click.shell_completion.get_completion_class", fail)

    return install


def test_unknown_verb_names_the_closest(capsys):
    assert run(["shwo"]) == 2
    assert capsys.readouterr().err == "error: 'shwo' is not an xp command\nhint: did you mean 'xp show'?\n"
    assert run(["qqqq"]) == 2
    assert "hint: 'xp --help' lists" in capsys.readouterr().err


def test_no_verb_is_wrong_use(capsys):
    assert run([]) == 2
    captured = capsys.readouterr()
    assert "Usage: xp" in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("args", [["--nope"], ["completion", "tcsh"], ["completion"], ["-C"]])
def test_wrong_use_is_exit_2_with_a_hint(args, capsys):
    assert run(args) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("hint: see 'xp")


def test_a_directory_that_is_not_there(tmp_path, capsys):
    assert run(["-C", str(tmp_path), "-C", "gone", "status"]) == 2
    assert capsys.readouterr().err == "error: cannot change to 'gone': no such directory\n"


def test_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("xp 0.")


def test_errors_as_json_are_one_object_on_stdout(failing, capsys):
    failing(ConflictError("main moved", (Conflict("a", None, "x", "y"),), hint="Try again."))
    assert run(["completion", "bash", "--", "--json"]) == 2
    capsys.readouterr()
    assert run(["show", "--json", "--bogus"]) == 2
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"] == "UsageError"
    assert captured.err == ""


def test_errors_for_people_go_to_stderr(failing, capsys):
    failing(XpError("it broke", hint="Mend it."))
    assert run(["completion", "bash"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: it broke\nhint: Mend it.\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_interrupts_are_one_line_and_130(failing, error, capsys):
    failing(error)
    assert run(["completion", "bash"]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_the_defect_report_hides_the_traceback_until_asked(monkeypatch, capsys):
    for variable, expected in (
        (None, "error: this is a defect of xp: ValueError: odd thing"),
        ("1", "ValueError: odd\nthing"),
    ):
        if variable:
            monkeypatch.setenv("XP_TRACEBACK", variable)
        with pytest.raises(SystemExit, match="70"):
            main.report_defect(ValueError, ValueError("odd\nthing"), None)
        err = capsys.readouterr().err
        assert expected in err


def program(code: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, **options
    )


def test_a_defect_exits_70_without_a_traceback():
    done = program("import sys; from xpstore.cli import main; main.run = lambda args: 1 / 0; main.main()")
    assert (done.returncode, done.stdout) == (70, "")
    assert done.stderr.splitlines() == [
        "error: this is a defect of xp: ZeroDivisionError: division by zero",
        "hint: set XP_TRACEBACK=1, run it again, and report the traceback",
    ]


def test_a_reader_who_left_is_no_noise():
    read, write = os.pipe()
    os.close(read)
    code = "from xpstore.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "completion", "bash"], stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("args", ["completion bash", "completion bash --json", "completion --json", "--help"])
def test_output_that_cannot_be_written_is_one_clear_error(args):
    code = "from xpstore.cli.main import main; main()"
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", code, *args.split()], stdout=full, stderr=subprocess.PIPE, check=False
        )
    lines = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert lines[0] == "error: the output cannot be written: No space left on device"
    assert [line.partition(":")[0] for line in lines] == ["error", "hint"]


@pytest.mark.parametrize(("closed", "code", "begins"), [(">&-", 1, "error: standard"), ("2>&-", 0, "")])
def test_a_closed_stream_is_one_clear_error_or_none(closed, code, begins):
    program = f'{sys.executable} -c "from xpstore.cli.main import main; main()" --version {closed}'
    done = subprocess.run(["sh", "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert done.stderr.startswith(begins)
    assert done.stderr.count("\n") == 2 * code


def test_an_error_of_the_system_that_is_not_about_the_output_stays_a_defect(failing):
    failing(OSError(28, "No space left on device"))
    with pytest.raises(OSError, match="No space"):
        run(["completion", "bash"])


def test_shell_completion_completes_verbs():
    env = {**os.environ, "_XP_COMPLETE": "bash_complete", "COMP_WORDS": "xp ver", "COMP_CWORD": "1"}
    done = program("from xpstore.cli.main import main; main()", env=env)
    assert done.stdout.split() == ["plain,verify"]
