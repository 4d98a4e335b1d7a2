"""The architecture as tests: layers, doors, cycles, sizes, start-up imports, and the RFC's names."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.builders import make_store

ROOT = Path(__file__).resolve().parent.parent
LAYERS = {"xpstore": 0, "trainer": 1, "hooks": 2}  # imports point downwards only
DOORS = {  # library → the only modules that may import it
    "pygit2": {"xpstore.git"},
    "unidiff": {"xpstore.patchfile"},
    "yaml": {"xpstore.frontmatter"},
    "detect_secrets": {"xpstore.redact"},
    "numpy": {"trainer.stats", "trainer.gate.simulate", "trainer.gate.statistics"},
    "scipy": {"trainer.gate.statistics"},
    "openai": {"trainer.llm"},
    "httpx": {"trainer.remote.client"},
    "httpx2": {"trainer.llm"},
    "ray": {"trainer.cluster.door"},
    "tenacity": {"trainer.remote.client"},
    "tau2": {"trainer.environments.tau2.library", "trainer.environments.tau2.simulation"},
    "watchfiles": {"xpstore.watch"},
    "mcp": {"trainer.mcp_server.server"},
    "fastapi": {"trainer.web.app", "trainer.web.run", "trainer.service.app", "trainer.service.tenants"}
    | {f"trainer.service.{routes}_routes" for routes in ("fs", "search", "session", "task")}
    | {"trainer.env_kit.routes", "trainer.env_kit.service"},
    "starlette": {"trainer.web.app", "trainer.web.guard"},
    "uvicorn": {"trainer.web.connection", "trainer.web.run"},
    # git, the pager, the user's own command, and the two programs that hold keys
    "subprocess": {"xpstore.gitcli", "xpstore.cli.pager", "xpstore.cli.follow", "xpstore.signing"},
    "sqlite3": {
        "xpstore.search",
        "trainer.env_kit.store",
        "trainer.environments.order_desk.database",
        "trainer.service.session_db",
    },
}
CLI_ONLY = {"click", "rich"}
WITHOUT_PYDANTIC = {
    "document",
    "frontmatter",
    "merge",
    "names",
    "trailers",
    "config",
    "git",
    "gitcli",
    "pack",
    "location",
    "evidence",
    "history",
}
MAX_LINES = 400
MAX_FUNCTION = 80

# RFC §16 and §17. What is still to come is listed, so that a missing name is a decision and not an oversight.
RFC_NAMES = {
    "BatchPolicyTrainer",
    "ContentHashPolicySnapshotter",
    "DryRunPolicyUpdater",
    "ExecutionContext",
    "ExperienceGradientContext",
    "ExperienceGradientEstimator",
    "ExperienceSetLoader",
    "ListCaseLoader",
    "MemoryFilePolicyUpdater",
    "OfflinePolicyOptimizationPipeline",
    "PatchMergePolicyOptimizer",
    "PatchMergePolicyOptimizerContext",
    "PipelineContext",
    "PolicyTrainingEngine",
    "RemoteCaseLoader",
    "RemoteRolloutExecutor",
    "SessionCommitPolicyTrainer",
    "SingleTurnLLMRolloutExecutor",
    "StreamingPolicyTrainer",
    "TrajectoryAnalyzerContext",
    "TrajectoryRolloutAnalyzer",
}
STILL_TO_COME: frozenset[str] = frozenset()


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for top in LAYERS for path in sorted((ROOT / top).rglob("*.py"))}


@dataclass(frozen=True)
class Facts:
    """What the tests want to know of a module; its tree would keep Python busy looking for garbage."""

    lines: int
    """0 for a module without a statement."""
    relative: bool
    """Whether it has a relative import."""
    imports: frozenset[str]
    """All modules named by import statements anywhere, lazy ones included."""
    typing: frozenset[str]
    """Those of them that are only named for type checkers."""
    long: tuple[str, ...]
    """Functions of more than MAX_FUNCTION lines."""


@cache
def facts(name: str) -> Facts:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"), name)
    nodes = list(ast.walk(tree))
    blocks = [n for n in nodes if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING"]
    skipped = {id(n) for block in blocks for n in ast.walk(block)}
    everything = frozenset().union(*map(named, nodes))
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Facts(
        lines=max((getattr(n, "end_lineno", 0) or 0 for n in tree.body), default=0),
        relative=any(isinstance(n, ast.ImportFrom) and n.level for n in nodes),
        imports=everything,
        typing=everything - frozenset().union(*(named(n) for n in nodes if id(n) not in skipped)),
        long=tuple(f.name for f in functions if (f.end_lineno or 0) - f.lineno + 1 > MAX_FUNCTION),
    )


def named(node: ast.AST) -> frozenset[str]:
    """Return the modules that one node names."""
    if isinstance(node, ast.Import):
        return frozenset(alias.name for alias in node.names)
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return frozenset({node.module, *(f"{node.module}.{alias.name}" for alias in node.names)})
    if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in {
        "import_module",
        "__import__",
    }:
        names = (a.value for a in node.args if isinstance(a, ast.Constant))
        return frozenset(n for n in names if isinstance(n, str))
    return frozenset()


def imports(name: str, *, typing_too: bool) -> frozenset[str]:
    found = facts(name)
    return found.imports if typing_too else found.imports - found.typing


def graph(*, typing_too: bool) -> dict[str, set[str]]:
    return {
        name: {i for i in imports(name, typing_too=typing_too) if i in MODULES and i != name}
        for name in MODULES
    }


def test_there_is_something_to_test():
    assert len(MODULES) > 20


def test_no_relative_imports():
    assert not [name for name in MODULES if facts(name).relative]


def test_imports_point_downwards():
    upwards = [
        (name, target)
        for name, targets in graph(typing_too=True).items()
        for target in targets
        if LAYERS[target.split(".")[0]] > LAYERS[name.split(".")[0]]
    ]
    assert not upwards


def test_no_import_cycles_not_even_lazy_ones():
    edges = graph(typing_too=False)
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name in done:
            return
        for target in sorted(edges[name]):
            visit(target, (*path, name))
        done.add(name)

    for name in sorted(edges):
        visit(name, ())


@pytest.mark.parametrize("library", sorted(DOORS))
def test_each_library_has_one_door(library: str):
    users = {
        name for name in MODULES if any(i.split(".")[0] == library for i in imports(name, typing_too=True))
    }
    assert users <= DOORS[library]


def test_only_the_command_line_parses_and_paints():
    users = {
        name for name in MODULES if any(i.split(".")[0] in CLI_ONLY for i in imports(name, typing_too=True))
    }
    assert not {u for u in users if ".cli" not in u}


def test_what_log_and_diff_need_knows_no_pydantic():
    edges = graph(typing_too=False)
    for start in sorted(f"xpstore.{m}" for m in WITHOUT_PYDANTIC):
        seen, todo = set(), [start]
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            todo += edges[name]
            direct = {i.split(".")[0] for i in imports(name, typing_too=False)}
            assert "pydantic" not in direct, f"{start} reaches pydantic through {name}"


def test_who_learns_without_a_model_does_not_load_a_client(tmp_path: Path):
    make_store(tmp_path / "s")
    sample = (ROOT / "sample_repo" / "rollouts" / "returns.jsonl").read_text("utf-8").splitlines()
    (tmp_path / "two.jsonl").write_text("\n".join(sample[:2]), "utf-8")
    blocked = "import sys; sys.modules['openai'] = sys.modules['httpx2'] = None; "
    program = [sys.executable, "-c", f"{blocked}from xpstore.cli.main import main; main()"]
    subprocess.run([*program, "-C", "s", "train", "../two.jsonl"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("name", sorted(MODULES))
def test_modules_and_functions_are_small(name: str):
    found = facts(name)
    assert found.lines, f"{name} is empty"
    assert found.lines <= MAX_LINES
    assert not found.long


def test_tests_mirror_the_code():
    missing = []
    for name in MODULES:
        path = Path(*name.split("."))
        if (ROOT / path).is_dir() or name == "trainer.interfaces":
            continue  # packages are tested by their modules; Protocols by the contract tests
        test = ROOT / "tests" / path.parent / f"test_{path.name}.py"
        if not test.exists():
            missing.append(str(test.relative_to(ROOT)))
    assert not missing


def test_rfc_names_are_importable_from_trainer():
    trainer = importlib.import_module("trainer")
    for name in sorted(RFC_NAMES - STILL_TO_COME):
        assert isinstance(getattr(trainer, name), type), name
    for name in sorted(STILL_TO_COME):
        assert not hasattr(trainer, name), f"{name} has come: take it off the list"


def test_every_public_name_of_trainer_resolves():
    trainer = importlib.import_module("trainer")
    for name in dir(trainer):
        assert getattr(trainer, name) is not None


def test_every_package_and_the_sample_are_installed():
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    found = {module_name(path) for top in LAYERS for path in (ROOT / top).rglob("__init__.py")}
    assert set(listed["packages"]) == found | {"trainer.sample"}
    assert (ROOT / listed["package-dir"]["trainer.sample"] / "xp.toml").is_file()


def test_the_top_level_is_what_the_layout_says():
    import_names = {p.name for p in ROOT.iterdir() if p.is_dir() and not p.name.startswith(".")}
    assert {"xpstore", "trainer", "hooks", "tests"} <= import_names
    assert sys.version_info >= (3, 11)
