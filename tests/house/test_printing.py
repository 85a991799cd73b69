"""Commands print through cli/printing.py alone, which shows what would steer a terminal."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "postroad" / "cli"
PRINTING = "printing.py"
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
WRITERS = {"print", "pprint", "input"}
SAYING = {"echo", "secho", "echo_via_pager", "print"}
OWN = {"rich.console": {"Console"}, "rich": {"print"}, "rich.text": {"Text"}, "rich.markup": None}


def written(text: str) -> Iterator[str]:
    """Each place where something is written past printing."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in WRITERS:
                yield f"{node.lineno}: {name}()"
            case ast.Attribute(value=ast.Name(id="sys"), attr=name) if name in STREAMS:
                yield f"{node.lineno}: sys.{name}"
            case ast.Attribute(value=ast.Name(id="click"), attr=name) if name in SAYING:
                yield f"{node.lineno}: click.{name}"
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr="write")):
                yield f"{node.lineno}: os.write"
            case ast.ImportFrom(module=str(module), names=names) if module in OWN:
                kinds = OWN[module]
                found = [each.name for each in names if kinds is None or each.name in kinds]
                yield from (f"{node.lineno}: {module}.{name}" for name in found)
            case ast.ImportFrom(module="sys", names=names):
                found = [each.name for each in names if each.name in STREAMS]
                yield from (f"{node.lineno}: sys.{name}" for name in found)
            case ast.keyword(arg="markup"):
                yield f"{node.lineno}: markup="
            case _:
                pass


def test_no_command_prints_past_printing() -> None:
    files = [path for path in sorted(SOURCE.rglob("*.py")) if path.name != PRINTING]
    assert len(files) > 20
    found = [f"{path.name}:{place}" for path in files for place in written(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "print(1)",
        "click.echo('x')",
        "sys.stdout.write('x')",
        "sys.stderr.buffer.write(b'x')",
        "say = sys.__stdout__",
        "from sys import stderr",
        "os.write(1, b'x')",
        "from rich.console import Console",
        "from rich import print",
        "from rich.markup import escape",
        "from rich.text import Text",
        "out().print('[b]x[/]', markup=True)",
    ],
)
def test_each_way_past_it_would_be_found(line: str) -> None:
    assert len(list(written(line))) == 1
