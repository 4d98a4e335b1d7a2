from __future__ import annotations

import importlib
import shutil
import sys
from importlib.metadata import EntryPoint
from itertools import count

import pytest

from trainer import environment
from trainer.environment import code_digest, load_environment, world_id, world_of
from xpstore.errors import UsageError
from xpstore.settings import EnvironmentSettings


def picky(options):
    """A factory that takes one option."""
    if set(options) - {"size"}:
        raise ValueError(f"unknown option {sorted(set(options) - {'size'})}")
    return ("made", dict(options))


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    points = [
        EntryPoint("picky", f"{__name__}:picky", environment.GROUP),
        EntryPoint("gone", "no_such_module:make", environment.GROUP),
        EntryPoint("half", "trainer.environment:no_such_name", environment.GROUP),
    ]
    monkeypatch.setattr(EntryPoint, "load", lambda self: picky if self.name == "picky" else LOAD(self))
    monkeypatch.setattr(
        environment, "entry_points", lambda group: points if group == environment.GROUP else []
    )


LOAD = EntryPoint.load


def test_an_installed_environment_is_made_with_its_options():
    assert load_environment("picky", {"size": 3}) == ("made", {"size": 3})


def test_an_unknown_name_lists_what_is_installed():
    with pytest.raises(UsageError, match="no environment is called 'moon'") as caught:
        load_environment("moon", {})
    assert "gone, half, picky" in caught.value.hint


@pytest.mark.parametrize("name", ["gone", "half"])
def test_what_cannot_be_imported_says_why(name):
    with pytest.raises(UsageError, match=r"cannot be imported: .*no_such"):
        load_environment(name, {})


def test_options_that_it_does_not_take_say_why():
    with pytest.raises(UsageError, match=r"does not take its options: unknown option \['colour'\]") as caught:
        load_environment("picky", {"colour": "red"})
    assert "environment.options" in caught.value.hint


def test_other_options_are_another_world():
    plain, small, large = (world_of(EnvironmentSettings("picky", o)) for o in ({}, {"size": 1}, {"size": 2}))
    assert plain.id == "picky"
    assert len({plain.id, small.id, large.id}) == 3
    assert small.environment == ("made", {"size": 1})
    assert small.id.startswith("picky#")
    settings = EnvironmentSettings("nowhere", {"size": 1})  # its name is known where it is not installed
    assert world_id(settings).removeprefix("nowhere") == small.id.removeprefix("picky")
    assert world_id(EnvironmentSettings()) == ""


def test_a_store_without_an_environment_says_what_to_write():
    with pytest.raises(UsageError, match="names no environment") as caught:
        world_of(EnvironmentSettings())
    assert "[environment]" in caught.value.hint


NUMBERS = count()
FILES = {"__init__.py": "", "tools.py": "A = 1\n", "deep/__init__.py": "", "deep/rules.py": "B = 1\n"}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that can be imported; no test has seen its name."""
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / f"digested{next(NUMBERS)}"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    yield folder
    for name in [n for n in sys.modules if n.partition(".")[0] == folder.name]:
        del sys.modules[name]


def digest(*names):
    """The digest that a new process computes."""
    code_digest.cache_clear()
    importlib.invalidate_caches()
    return code_digest(*names)


def test_the_digest_of_code_is_stable(package):
    first = digest(package.name)
    assert len(first) == 16
    assert int(first, 16)
    (package / "notes.txt").write_text("not code")
    (package / "__pycache__").mkdir(exist_ok=True)
    (package / "__pycache__" / "tools.pyc").write_bytes(b"not source")
    assert digest(package.name) == first
    assert digest(package.name, f"{package.name}.tools", f"{package.name}.deep") == first  # each file once
    parts = f"{package.name}.tools", f"{package.name}.deep"
    assert digest(*parts) == digest(*reversed(parts)) != first


@pytest.mark.parametrize("name", FILES)
def test_the_digest_of_code_changes_with_the_bytes_of_any_file(package, name):
    seen = {digest(package.name)}
    for text in ("C = 1\n", "C = 1 \n", "# C = 1\n"):
        (package / name).write_text(text)
        seen.add(digest(package.name))
    assert len(seen) == 4
    (package / name).write_text(FILES[name])
    assert digest(package.name) in seen


def test_the_digest_of_code_changes_with_the_names_of_files(package):
    seen = {digest(package.name)}
    (package / "tools.py").rename(package / "tool.py")
    seen.add(digest(package.name))
    (package / "deep" / "tools.py").write_text("")
    seen.add(digest(package.name))
    shutil.rmtree(package / "deep")
    seen.add(digest(package.name))
    assert len(seen) == 4


def test_the_digest_of_a_module_is_of_that_file_only(package):
    before = [digest(f"{package.name}.{part}") for part in ("tools", "deep.rules", "deep")]
    (package / "deep" / "rules.py").write_text("B = 2\n")
    after = [digest(f"{package.name}.{part}") for part in ("tools", "deep.rules", "deep")]
    assert [a == b for a, b in zip(before, after, strict=True)] == [True, False, False]


def test_code_that_is_not_there_has_no_digest(package):
    for name in ("no_such_package", f"{package.name}.no_such_module"):
        with pytest.raises(ImportError):
            digest(name)
