"""The tree is tidy, and each check is shown a bad tree that it must name."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.house import tidy

ROOT = Path(__file__).parents[2]
EVERYWHERE = ("src", "bench", "proof", "scripts", "tests")

Check = Callable[[Path], list[str]]
CHECKS: list[tuple[Check, tuple[str, ...]]] = [
    (tidy.long_modules, EVERYWHERE),
    (tidy.long_functions, EVERYWHERE),
    (tidy.crowded_functions, EVERYWHERE),
    (tidy.crowded_classes, EVERYWHERE),
    (tidy.vague_names, EVERYWHERE),
    (tidy.unexplained_sql, EVERYWHERE),
    (tidy.mutable_module_state, ("src",)),
    (tidy.unfinished_work, ("src",)),
]


def test_the_tree_is_tidy() -> None:
    """One test for all checks, in one process: to read the tree takes longer than to check it."""
    with tidy.trees_kept():
        breaches = [
            f"{folder}/{breach}"
            for check, folders in CHECKS
            for folder in folders
            for breach in check(ROOT / folder)
        ]
    assert not breaches, "\n".join(breaches)


def test_no_file_names_a_package_registry() -> None:
    breaches = tidy.registry_hosts(ROOT)
    assert not breaches, "\n".join(breaches)


def function(lines: int = 2, parameters: int = 0) -> str:
    names = ", ".join(f"p{number}" for number in range(parameters))
    return f"def act({names}):\n" + "    pass\n" * (lines - 1)


def cls(methods: int) -> str:
    named = [f"    def act_{number}(self): pass\n" for number in range(methods)]
    return "class Busy:\n    def __init__(self): pass\n    def _own(self): pass\n" + "".join(named)


# Each check with a file at its limit, which passes, and one past it, which is named.
EDGES: list[tuple[Check, str, str, str, str]] = [
    (tidy.long_modules, "a.py", "x = 1\n" * 400, "x = 1\n" * 401, "a.py: 401 lines"),
    (tidy.long_functions, "a.py", function(60), function(61), "a.py:1: act has 61 lines"),
    (
        tidy.crowded_functions,
        "room/a.py",
        function(parameters=8),
        function(parameters=9),
        "room/a.py:1: act takes 9 parameters",
    ),
    (
        tidy.crowded_functions,
        "a.py",
        "class A:\n    def act(self, a, b, /, c, d, *e, f, g, **h): pass\n",
        "class A:\n    def act(self, a, b, /, c, d, *e, f, g, h, **i): pass\n",
        "a.py:2: act takes 9 parameters",
    ),
    (tidy.crowded_classes, "a.py", cls(20), cls(21), "a.py:1: Busy has 21 public methods"),
    (
        tidy.vague_names,
        "a.py",
        "class Managed: pass\n",
        "class LaneManager: pass\n",
        "a.py:1: the name LaneManager says nothing",
    ),
    (
        tidy.vague_names,
        "a.py",
        "def uncommon(): pass\n",
        "async def common_part(): pass\n",
        "a.py:1: the name common_part says nothing",
    ),
    (
        tidy.mutable_module_state,
        "a.py",
        "__all__ = ['x']\nTABLE = {}\nnames: tuple[str, ...] = ()\ndef act():\n    own = []\n",
        "seen: dict[str, int] = {}\n",
        "a.py:1: seen is mutable state of the module",
    ),
    (
        tidy.mutable_module_state,
        "a.py",
        "class A:\n    x = [1]\n",
        "try:\n    import y\nexcept ImportError:\n    found = collections.deque()\n",
        "a.py:4: found is mutable state of the module",
    ),
    (tidy.unfinished_work, "a.py", "todos = 1\n", "x = 1  # TODO\n", "a.py:1: TODO"),
    (tidy.unfinished_work, "q/a.sql", "-- fixed\n", "-- a\n-- FIXME\n", "q/a.sql:2: FIXME"),
    (
        tidy.unfinished_work,
        "a.py",
        "return NotImplemented\n",
        "raise NotImplementedError\n",
        "a.py:1: NotImplementedError",
    ),
    (
        tidy.unexplained_sql,
        "q/a.sql",
        "-- Finds the next due rung.\nSELECT 1\n",
        "SELECT 1 -- Finds the next due rung.\n",
        "q/a.sql:1: the first line does not say",
    ),
    (
        tidy.unexplained_sql,
        "a.sql",
        "--finds the rung\n",
        "--\n-- finds the rung\n",
        "a.sql:1: the first line does not say",
    ),
]


@pytest.mark.parametrize(("check", "name", "good", "bad", "breach"), EDGES)
def test_a_check_names_what_is_past_its_limit(
    tmp_path: Path, check: Check, name: str, good: str, bad: str, breach: str
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(good)
    assert check(tmp_path) == []
    path.write_text(bad)
    assert [said[: len(breach)] for said in check(tmp_path)] == [breach]


@pytest.mark.parametrize("name", ["lane_utils.py", "helpers/lane.py", "common/__init__.py"])
def test_a_vague_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).touch()
    assert tidy.vague_names(tmp_path) == [f"{name}: the name says nothing"]


@pytest.mark.parametrize("host", tidy.REGISTRY_HOSTS)
def test_a_registry_host_is_named_unless_the_file_is_ignored(tmp_path: Path, host: str) -> None:
    subprocess.run(("git", "init", "-q", tmp_path), check=True)
    (tmp_path / ".gitignore").write_text("cache/\n")
    for folder in ("cache", "docs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.md").write_text(f"words\nsee {host.upper()}/simple\n")
    assert tidy.registry_hosts(tmp_path) == [f"docs/a.md:2: names the registry host {host}"]
