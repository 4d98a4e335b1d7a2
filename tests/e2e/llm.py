"""`xp` with a scripted model, in this process: a store that names an endpoint, and what came of a run."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.builders import git, make_store, texts
from xpstore.cli.main import run
from xpstore.location import Location
from xpstore.verify import verify

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.llm_server import LlmServer

MODEL = "small"


@dataclass(frozen=True)
class Learner:
    """A store, and whoever trains it at a shell."""

    path: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def asks(self, server: LlmServer) -> Learner:
        """Let it ask this server from now on."""
        self.monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return self

    def xp(self, *words: str, code: int = 0) -> str:
        self.capsys.readouterr()
        found = run(["-C", str(self.path), *words])
        out, err = self.capsys.readouterr()
        assert found == code, f"{words}: {found}\n{out}\n{err}"
        return out

    def train(self, *words: str, code: int = 0) -> dict:
        """Train with the model; return the report."""
        return json.loads(self.xp("train", *words, "--learner", "llm", "--json", code=code))

    def pages(self, ref: str) -> dict[str, str]:
        return texts(Location.find(self.path), ref)

    def tree(self, ref: str) -> str:
        return git(self.path, "rev-parse", f"{ref}:experiences")

    def refs(self) -> str:
        return git(self.path, "for-each-ref")

    def states(self, ref: str) -> set[str]:
        """What `xp verify` says of the plans of a branch."""
        return {f.state for f in verify(Location.find(self.path), ref)}

    def copy(self, name: str) -> Learner:
        """A second store of the same id, as this one is now."""
        shutil.copytree(self.path, self.path.parent / name, symlinks=True)
        return Learner(self.path.parent / name, self.capsys, self.monkeypatch)


def make_template(path: Path, **settings: object) -> Path:
    """Make a store whose xp.toml names the model, with these settings below [llm]."""
    make_store(path)
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"model": MODEL, **settings}.items()]
    with (path / "xp.toml").open("a", encoding="utf-8") as file:
        file.write("\n[llm]\n" + "\n".join(lines) + "\n")
    git(path, "commit", "-qam", "Name the model")
    return path
