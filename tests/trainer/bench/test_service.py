from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from trainer.bench import service
from xpstore.errors import XpError

if TYPE_CHECKING:
    from pathlib import Path

SERVE = ("env", "serve", "order-desk", "--port", "0", "--json", "--state", "")
PARENT = """
import asyncio, sys
from pathlib import Path
from trainer.bench.service import running

async def main():
    async with running(sys.executable, sys.argv[2:], Path(sys.argv[1])) as url:
        print(url, flush=True)
        await asyncio.sleep(3600)

asyncio.run(main())
"""


def test_a_service_that_does_not_start_says_why(tmp_path: Path):
    async def start(*arguments: str) -> None:
        async with service.running(sys.executable, arguments, tmp_path / "log"):
            pass

    with pytest.raises(XpError, match="no environment to serve") as caught:
        asyncio.run(start("env", "serve", "nowhere"))
    assert "log" in caught.value.hint
    with pytest.raises(XpError, match="has not started"):
        asyncio.run(start("--version"))


def test_what_is_printed_in_a_service_does_not_stop_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    done = tmp_path / "done"
    program = f"""
import json, sys
from pathlib import Path
print(json.dumps({{"url": "http://here"}}), flush=True)
for _ in range(2_000):
    print("x" * 1_000, flush=True)
Path({str(done)!r}).touch()
sys.stdin.read()
"""
    monkeypatch.setattr(service, "PROGRAM", program)

    async def start() -> None:
        async with service.running(sys.executable, (), tmp_path / "log") as url:
            assert url == "http://here"
            async with asyncio.timeout(60):
                while not done.exists():  # noqa: ASYNC110  # another process
                    await asyncio.sleep(0.01)

    asyncio.run(start())
    assert (tmp_path / "log").stat().st_size > 1_000_000


def test_a_python_that_there_is_not(tmp_path: Path):
    async def start() -> None:
        async with service.running(str(tmp_path / "python"), (), tmp_path / "log"):
            pass

    with pytest.raises(XpError, match="cannot start"):
        asyncio.run(start())


def test_a_service_ends_with_whoever_started_it(tmp_path: Path):
    log = tmp_path / "log"
    os.mkfifo(log)
    reading = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    command = [sys.executable, "-c", PARENT, str(log), *SERVE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline().startswith("http://127.0.0.1:")
        parent.kill()
    os.set_blocking(reading, True)
    with open(reading, "rb") as said:  # noqa: PTH123  # a descriptor
        assert b"Traceback" not in said.read()  # all of it: nobody has it open any more
