"""The words of docstrings, comments and log events in the source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

LOGGED = {"debug", "info", "warning", "error", "exception"}
COMMENT = re.compile(r"(?:^|  )# (.*)$")


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings, also those of attributes, the events that are logged, and comments."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, " ".join(text.split())
            case ast.Call(func=ast.Attribute(attr=verb), args=[ast.Constant(value=str(text)), *_]):
                if verb in LOGGED:
                    yield node.lineno, text
            case _:
                pass
    for number, line in enumerate(source.splitlines(), 1):
        if comment := COMMENT.search(line):
            yield number, comment[1]


def private_words(folder: Path, banned: dict[str, str]) -> list[str]:
    """Where a text has one of these patterns, and what to write instead."""
    patterns = {re.compile(word, re.IGNORECASE): better for word, better in banned.items()}
    any_of_them = re.compile("|".join(f"(?:{word})" for word in banned), re.IGNORECASE)
    return [
        f"{path.relative_to(folder)}:{line}: `{seen[0]}`: write {better}"
        for path in sorted(folder.rglob("*.py"))
        for line, text in texts(path)
        if any_of_them.search(text)
        for pattern, better in patterns.items()
        if (seen := pattern.search(text))
    ]
