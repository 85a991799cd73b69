"""Which SQL statements a package has, and which ones its Python asks for, by name."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from postroad.ports.sql import MARK, split

LABELLED = {"write", "read", "work", "together"}
"""Their first argument says what a statement is counted as, and is no statement."""
SHARED = re.compile(r"^from postroad\.stores\.statements import ", re.MULTILINE)
"""A module of `stores/` that imports it runs statements of both databases by name."""
ON_STATEMENTS = {"select", "first", "execute", "changes", "insert"}
ON_DATABASE = {"all", "one", "rows", "number", "run", "many", "changed", "many_changed"}


class Loaded(NamedTuple):
    """One call of `load`: where it stands, and the folder that it names."""

    module: Path
    folder: Path


class Asked(NamedTuple):
    """The words of a package's Python that may name a statement, and those that must."""

    words: set[str]
    patterns: list[re.Pattern[str]]
    names: set[str]

    def has(self, name: str) -> bool:
        return name in self.words or any(each.fullmatch(name) for each in self.patterns)


def loads(root: Path) -> Iterator[Loaded]:
    """Every call of `load` under a folder that holds the package `postroad`."""
    for path in sorted(root.rglob("*.py")):
        source = path.read_text("utf-8")
        if not re.search(r"^from postroad\.\w+\.sql import .*\bload\b", source, re.MULTILINE):
            continue
        tree = ast.parse(source)
        constants = dict(_constants(tree))
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "load"
            ):
                package, *folder = [_text(each, constants) for each in node.args]
                yield Loaded(path, root.joinpath(*package.split("."), *folder))


def _constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            yield node.target.id, node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _text(node: ast.expr, constants: dict[str, ast.expr]) -> str:
    if isinstance(node, ast.Name):
        node = constants[node.id]
    assert isinstance(node, ast.Constant), "name the package and folder of `load` in plain texts"
    return str(node.value)


def statements(folder: Path) -> dict[str, list[str]]:
    """The statements of a folder by name, each with the lines before its SQL that describe it.
    Files without names are scripts."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.sql")):
        text = path.read_text("utf-8")
        if not text.startswith(MARK) and "\n" + MARK not in text:
            continue
        for name, _ in split(text, path.stem):
            after = text.split(f"{MARK} {name}\n", 1)[1].splitlines()
            found[name] = [line for line in after[:1] if line.startswith("-- ")]
    return found


def users(root: Path, module: Path) -> list[Path]:
    """The modules beside one and below it, those elsewhere that import its statements, and those
    that both databases share."""
    name = ".".join(module.relative_to(root).with_suffix("").parts)
    near = set(module.parent.rglob("*.py"))
    taken = re.compile(rf"^from {re.escape(name)} import [^)]*?\bQUERIES\b", re.MULTILINE)
    shared = {p for p in module.parents[1].glob("*.py") if SHARED.search(p.read_text("utf-8"))}
    far = {p for p in root.rglob("*.py") if taken.search(p.read_text("utf-8"))}
    return sorted(near | shared | far)


def asked(sources: list[str]) -> Asked:
    """What these sources ask for."""
    found = Asked(set(), [], set())
    for source in sources:
        tree = ast.parse(source)
        skipped = {id(each) for node in ast.walk(tree) for each in _not_names(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                found.patterns.extend(_pattern(node))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.words.update(() if id(node) in skipped else {node.value})
            found.names.update(_must_be(node))
    return found


def _not_names(node: ast.AST) -> Iterator[ast.expr]:
    """Docstrings, and labels that stand before a statement's name or before work."""
    if isinstance(node, ast.Expr):
        yield node.value
    if isinstance(node, ast.Call):
        for one, following in zip(node.args, node.args[1:], strict=False):
            if _is_text(one) and _is_text(following):
                yield one
        if isinstance(node.func, ast.Attribute) and node.func.attr in LABELLED:
            yield from node.args[:1]


def _must_be(node: ast.AST) -> Iterator[str]:
    """`QUERIES["name"]`, `db.run("name", …)`, `write(Database.run, "name", …)` and
    `select("label", "name", …)`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        holder = node.value
        name = holder.id if isinstance(holder, ast.Name) else getattr(holder, "attr", "")
        if name in ("QUERIES", "_sql"):
            yield str(node.slice.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        on = node.func.value
        if isinstance(on, ast.Name) and on.id == "db" and node.func.attr in ON_DATABASE:
            yield from (str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant))
        if node.func.attr in ON_STATEMENTS and all(map(_is_text, node.args[:2])):
            yield from (str(ast.literal_eval(each)) for each in node.args[1:2])
        for one, following in zip(node.args, node.args[1:], strict=False):
            if ast.unparse(one).startswith("Database.") and isinstance(following, ast.Constant):
                yield str(following.value)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _pattern(node: ast.JoinedStr) -> Iterator[re.Pattern[str]]:
    parts = [
        re.escape(str(p.value)) if isinstance(p, ast.Constant) else r"\w+" for p in node.values
    ]
    if re.fullmatch(r"\w+_.*|.*_\w+", "".join(p for p in parts if p != r"\w+")):
        yield re.compile("".join(parts))
