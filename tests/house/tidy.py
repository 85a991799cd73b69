"""STYLE as checks: each takes a folder and returns its breaches, as `file:line: what is wrong`."""

import ast
import gc
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

MODULE_LINES_AIM, MODULE_LINES_MAX = 300, 400
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 8
PUBLIC_METHODS_MAX = 20

# Names that say nothing about what is inside.
VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "managers"}

# Built from pieces, so that this file does not name them either.
REGISTRY_HOSTS = (
    "py" + "pi.org",
    "python" + "hosted",
    "npm" + "js.org",
    "npm" + "js.com",
    "crates" + ".io",
    "deb." + "debian",
    "security." + "debian",
    "/opt/" + "py" + "pi",
)

UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b")
MUTABLE_CALLS = {"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict"}
MUTABLE_LITERALS = (ast.Dict, ast.DictComp, ast.List, ast.ListComp, ast.Set, ast.SetComp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def modules(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield str(path.relative_to(folder)), _parsed(path.read_text())


@cache  # every check reads the same files
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


@contextmanager
def trees_kept() -> Iterator[None]:
    """All trees are garbage at the end, and not before: to look for some took 4 s of 6."""
    gc.disable()
    try:
        yield
    finally:
        _parsed.cache_clear()
        _named.cache_clear()
        gc.enable()


@cache
def _named(tree: ast.Module) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    found, nodes = [], list[ast.AST]([tree])
    while nodes:  # no expression holds a function with a name: to walk into them took half the time
        for child in ast.iter_child_nodes(nodes.pop()):
            if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
                nodes.append(child)
            if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
                found.append(child)
    return found


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in _named(tree) if isinstance(node, FUNCTIONS))


def classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in _named(tree) if isinstance(node, ast.ClassDef))


def long_modules(folder: Path) -> list[str]:
    files = sorted([*folder.rglob("*.py"), *folder.rglob("*.sql")])
    sizes = [(path, len(path.read_text().splitlines())) for path in files]
    return [
        f"{path.relative_to(folder)}: {lines} lines"
        f" (aim for {MODULE_LINES_AIM}, never over {MODULE_LINES_MAX})"
        for path, lines in sizes
        if lines > MODULE_LINES_MAX
    ]


def long_functions(folder: Path) -> list[str]:
    return [
        f"{name}:{node.lineno}: {node.name} has {lines} lines (limit {FUNCTION_LINES_MAX})"
        for name, tree in modules(folder)
        for node in functions(tree)
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]


def crowded_functions(folder: Path) -> list[str]:
    return [
        f"{name}:{node.lineno}: {node.name} takes {count} parameters (limit {PARAMETERS_MAX})"
        for name, tree in modules(folder)
        for node in functions(tree)
        if (count := _parameters(node)) > PARAMETERS_MAX
    ]


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    given = node.args
    named = (*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg)
    return len([each for each in named if each and each.arg not in ("self", "cls")])


def crowded_classes(folder: Path) -> list[str]:
    return [
        f"{name}:{node.lineno}: {node.name} has {count} public methods (limit {PUBLIC_METHODS_MAX})"
        for name, tree in modules(folder)
        for node in classes(tree)
        if (count := _public_methods(node)) > PUBLIC_METHODS_MAX
    ]


def _public_methods(node: ast.ClassDef) -> int:
    methods = {each.name for each in node.body if isinstance(each, FUNCTIONS)}
    return len([method for method in methods if not method.startswith("_")])


def vague_names(folder: Path) -> list[str]:
    """Files, folders, classes and functions named after nothing."""
    breaches = [
        f"{name}: the name says nothing"
        for name, _ in modules(folder)
        if any(_is_vague(part) for part in Path(name).with_suffix("").parts)
    ]
    breaches += [
        f"{name}:{node.lineno}: the name {node.name} says nothing"
        for name, tree in modules(folder)
        for node in (*functions(tree), *classes(tree))
        if _is_vague(node.name)
    ]
    return breaches


def _is_vague(name: str) -> bool:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_")
    return not VAGUE.isdisjoint(words)


def mutable_module_state(folder: Path) -> list[str]:
    """A dict, list or set bound at module level to a lower-case name: a registry in the making."""
    return [
        f"{name}:{node.lineno}: {target.id} is mutable state of the module"
        for name, tree in modules(folder)
        for node in _module_statements(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _is_mutable(node.value)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
        if not target.id.isupper() and not target.id.startswith("__")
    ]


def _module_statements(node: ast.AST) -> Iterator[ast.stmt]:
    """What runs when the module is imported, under an `if`, `try` or `with` too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from _module_statements(child)


def _is_mutable(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Call):
        called = value.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        return name in MUTABLE_CALLS
    return isinstance(value, MUTABLE_LITERALS)


def unfinished_work(folder: Path) -> list[str]:
    return [
        f"{path.relative_to(folder)}:{number}: {found[0]}"
        for path in sorted(folder.rglob("*"))
        if path.suffix in (".py", ".sql")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (found := UNFINISHED.search(line))
    ]


def unexplained_sql(folder: Path) -> list[str]:
    """A .sql file opens with `-- ` and a few words that say what it is for."""
    return [
        f"{path.relative_to(folder)}:1: the first line does not say what the query is for"
        for path in sorted(folder.rglob("*.sql"))
        if not re.match(r"--\s*\w+\s+\w+", path.read_text())
    ]


def registry_hosts(folder: Path) -> list[str]:
    """Package registries named in a tracked file, or in one that is about to be."""
    listed = subprocess.run(
        ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(name for name in listed.stdout.split("\0") if (folder / name).is_file())
    return [
        f"{name}:{number}: names the registry host {host}"
        for name in names
        for number, line in enumerate((folder / name).read_text(errors="replace").splitlines(), 1)
        for host in REGISTRY_HOSTS
        if host in line.lower()
    ]
