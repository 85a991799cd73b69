"""The papers as checks: each takes the project's folder and returns its breaches."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TEST = re.compile(r"`([\w./-]+\.py)::([\w:]+)(?:\[[^`]*\])?`")
ITEM = re.compile(r"`make (proof ITEM|bench NAME)=([\w-]+)[^`]*`")
WORD = re.compile(r"\| \*\*([^*|]+)\*\* \| ([^|]+) \|")
DECISION_FILE = re.compile(r"(\d{3})-[a-z0-9]+(-[a-z0-9]+)*\.md")


def unproven_promises(root: Path, paper: str = "docs/promises.md") -> list[str]:
    """Rows of a paper's tables that name no proof, or one that does not exist.

    A proof is `tests/…/test_x.py::test_name`, `make proof ITEM=…` or `make bench NAME=…`.
    """
    rows = promise_rows((root / paper).read_text())
    if not rows:
        return [f"{paper}: holds no promise"]
    breaches = []
    for number, row in rows:
        place = f"{paper}:{number}"
        tests, items = TEST.findall(row), ITEM.findall(row)
        if not tests and not items:
            breaches.append(f"{place}: names no test, proof or benchmark")
        breaches += [
            f"{place}: there is no {path}::{name}"
            for path, name in tests
            if not has_test(root / path, name)
        ]
        breaches += [
            f"{place}: there is no {kind.split()[0]} {item}"
            for kind, item in items
            if not has_item(root / kind.split()[0], item)
        ]
    return breaches


def promise_rows(text: str) -> list[tuple[int, str]]:
    """The table rows with their line numbers; the two lines of each table's head left out."""
    lines = [*enumerate(text.splitlines(), 1)]
    rules = {number for number, line in lines if re.fullmatch(r"\|[\s|:-]+\|", line.strip())}
    heads = {number - 1 for number in rules}
    return [
        (number, line)
        for number, line in lines
        if line.lstrip().startswith("|") and number not in rules | heads
    ]


def has_test(path: Path, name: str) -> bool:
    """Whether the file defines that test, `Class::test_name` included."""
    if not path.is_file():
        return False
    test = name.rpartition("::")[2]
    return test.startswith("test_") and name in _functions(path.read_text())


@cache  # many rows name the same file
def _functions(text: str) -> frozenset[str]:
    return frozenset(_named(ast.parse(text).body))


def _named(body: list[ast.stmt], owner: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _named(node.body, f"{owner}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield owner + node.name


def has_item(package: Path, item: str) -> bool:
    """Whether bench/ or proof/ has a module of that name, or its code names the item."""
    module = package / item.replace("-", "_")
    return (
        module.with_suffix(".py").is_file()
        or module.is_dir()
        or any(
            isinstance(node, ast.Constant) and node.value == item
            for path in package.rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text()))
        )
    )


def misfiled_decisions(root: Path) -> list[str]:
    """Decisions are docs/decisions/NNN-title.md, each opening `# NNN. Title`, no number twice."""
    breaches = []
    numbers: Counter[str] = Counter()
    for path in sorted((root / "docs" / "decisions").iterdir()):
        place = path.relative_to(root)
        named = DECISION_FILE.fullmatch(path.name)
        if not named:
            breaches.append(f"{place}: not named NNN-title.md")
            continue
        numbers[named[1]] += 1
        if not re.match(rf"# {named[1]}\.? \S", path.read_text()):
            breaches.append(f"{place}: does not open with `# {named[1]}. Title`")
        if numbers[named[1]] == 2:
            breaches.append(f"{place}: number {named[1]} is taken")
    return breaches


def glossary_breaches(root: Path, paper: str = "docs/glossary.md") -> list[str]:
    """Rows of the glossary that define nothing, or a word that another row defines."""
    lines: dict[str, int] = {}
    breaches = []
    for number, row in promise_rows((root / paper).read_text()):
        place = f"{paper}:{number}"
        defined = WORD.fullmatch(row.strip())
        if not defined or not defined[2].strip().endswith("."):
            breaches.append(f"{place}: is not `| **word** | A sentence. |`")
        elif defined[1] in lines:
            breaches.append(f"{place}: `{defined[1]}` is defined in line {lines[defined[1]]}")
        else:
            lines[defined[1]] = number
    return breaches


def glossary_words(root: Path, paper: str = "docs/glossary.md") -> set[str]:
    """The words that the glossary defines."""
    rows = promise_rows((root / paper).read_text())
    return {defined[1] for _, row in rows if (defined := WORD.fullmatch(row.strip()))}


def private_words(root: Path, papers: list[str], banned: dict[str, str]) -> list[str]:
    """Lines of papers with a word that a reader would have to look up, and the word to use."""
    return [
        f"{paper}:{number}: `{found}`: write {better}"
        for paper in papers
        for number, line in enumerate((root / paper).read_text().splitlines(), 1)
        for word, better in banned.items()
        for found in re.findall(rf"(?<![\w-])(?:{word})(?![\w-])", line, re.IGNORECASE)
    ]


def long_decisions(root: Path, lines_max: int) -> list[str]:
    """Decisions that are longer than one page."""
    return [
        f"{path.relative_to(root)}: {length} lines"
        for path in sorted((root / "docs" / "decisions").glob("*.md"))
        if (length := len(path.read_text().splitlines())) > lines_max
    ]


def missing_files(root: Path, paper: str = "docs/architecture.md") -> list[str]:
    """Modules that a paper names and that neither the package nor the project has."""
    package = root / "src" / "postroad"
    known = {path.name for path in package.rglob("*.py")}
    return [
        f"{paper}: there is no {name}"
        for name in re.findall(r"`([\w/]+\.py)`", (root / paper).read_text())
        if not ((package / name).exists() or (root / name).exists() or name in known)
    ]
