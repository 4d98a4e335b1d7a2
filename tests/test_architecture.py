"""The architecture as tests: layers, doors, cycles, sizes, start-up imports, and the RFC's names."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tomllib
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
    "httpx2": {"trainer.llm"},
    "watchfiles": {"xpstore.watch"},
    # git, the pager, the user's own command, and the two programs that hold keys
    "subprocess": {"xpstore.gitcli", "xpstore.cli.pager", "xpstore.cli.watch", "xpstore.signing"},
    "sqlite3": {"xpstore.search", "trainer.environments.order_desk.database"},
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
STILL_TO_COME = {
    "RemoteCaseLoader",
    "RemoteRolloutExecutor",
    "SessionCommitPolicyTrainer",
    "StreamingPolicyTrainer",
}


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {
    module_name(path): ast.parse(path.read_text(encoding="utf-8"), str(path))
    for top in LAYERS
    for path in sorted((ROOT / top).rglob("*.py"))
}


@cache
def imports(tree: ast.Module, *, typing_too: bool) -> frozenset[str]:
    """All modules named by import statements anywhere in the tree, lazy ones included."""
    found: set[str] = set()
    skipped = set() if typing_too else {id(n) for block in type_checking(tree) for n in ast.walk(block)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in {
            "import_module",
            "__import__",
        }:
            found |= {a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)}
    return frozenset(found)


def type_checking(tree: ast.Module) -> list[ast.If]:
    return [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.If) and isinstance(n.test, ast.Name) and n.test.id == "TYPE_CHECKING"
    ]


def graph(*, typing_too: bool) -> dict[str, set[str]]:
    return {
        name: {i for i in imports(tree, typing_too=typing_too) if i in MODULES and i != name}
        for name, tree in MODULES.items()
    }


def test_there_is_something_to_test():
    assert len(MODULES) > 20


def test_no_relative_imports():
    relative = [
        name
        for name, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert not relative


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
        name
        for name, tree in MODULES.items()
        if any(i.split(".")[0] == library for i in imports(tree, typing_too=True))
    }
    assert users <= DOORS[library]


def test_only_the_command_line_parses_and_paints():
    users = {
        name
        for name, tree in MODULES.items()
        if any(i.split(".")[0] in CLI_ONLY for i in imports(tree, typing_too=True))
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
            direct = {i.split(".")[0] for i in imports(MODULES[name], typing_too=False)}
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
    tree = MODULES[name]
    assert tree.body, f"{name} is empty"
    assert max((getattr(n, "end_lineno", 0) or 0) for n in tree.body) <= MAX_LINES
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    too_long = [f.name for f in functions if (f.end_lineno or 0) - f.lineno + 1 > MAX_FUNCTION]
    assert not too_long


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
