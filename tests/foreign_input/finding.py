"""Finds every pattern and parser in a folder of source, and those that no door leads through."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

PATTERNS: Final = frozenset(
    ("compile", "findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")
)
"""Functions of `re`."""
PARSERS: Final = frozenset(
    (
        *(
            "Connection",
            "CronSim",
            "Decoder",
            "HttpResponseParser",
            "HttpRequestParser",
            "ZoneInfo",
        ),
        *("b64decode", "convert", "extract", "feed_data", "fromhex", "fromisoformat"),
        *("getincrementaldecoder", "ip_address", "ip_network", "loads", "parse", "parse_qs"),
        *("parse_qsl", "parsedate_to_datetime", "reader", "readuntil"),
        *("rsplit", "split", "splitlines", "unmarshal", "unpack_from", "unquote", "urlsplit"),
    )
)
"""Calls, by the last part of their name, that take texts and bytes apart; `partition` cuts once."""
SQL: Final = re.compile(r"!?~\*?\s*'|\bregexp|\bsimilar to\b", re.IGNORECASE)


def found(folder: Path) -> set[str]:
    """All of them, as `file:name`: the name of a constant, a function or a class."""
    return {f"{file}:{name}" for file, name in (*_in_python(folder), *_in_sql(folder))}


def _in_python(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        for statement in ast.parse(path.read_text()).body:
            if any(_parses(node) for node in ast.walk(statement)):
                yield str(path.relative_to(folder)), _name(statement)


def _in_sql(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.sql")):
        if SQL.search(path.read_text()):
            yield str(path.relative_to(folder)), "sql"


def _parses(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Name):
        return called.id in PARSERS
    if not isinstance(called, ast.Attribute):
        return False
    of_re = isinstance(called.value, ast.Name) and called.value.id == "re"
    return called.attr in (PATTERNS if of_re else PARSERS)


def _name(statement: ast.stmt) -> str:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return statement.name
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    names = [
        node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
    ]
    return names[0] if names else f"line {statement.lineno}"


def missing(there: set[str], covered: frozenset[str], ours: dict[str, str]) -> list[str]:
    """Those that no door leads through and that are not said to be for bytes of our own."""
    return sorted(one for one in there - covered if not one.startswith(tuple(ours)))


def stale(there: set[str], covered: frozenset[str]) -> list[str]:
    """Names that are listed and not there any more."""
    return sorted(covered - there)
