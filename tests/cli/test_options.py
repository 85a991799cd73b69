"""A command has the options that it uses, and no others."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Any

import click

from postroad.cli.command import BareInvocation, Invocation, Listing, SettingsInvocation
from postroad.cli.options import Group
from postroad.cli.root import GROUPS, app
from postroad.cli.shared_options import OUTPUT, PANEL, REQUEST, ROWS, SETTING, SHARED

NEEDS = {
    "json": OUTPUT, "printed": OUTPUT, "reply": OUTPUT,
    "plain": ROWS, "table": ROWS, "facts": ROWS,
    "loaded": SETTING,
    "listed": (*OUTPUT, *ROWS, *SETTING, *REQUEST),
    "delete": (*OUTPUT, *SETTING, *REQUEST),
    "ask": (*SETTING, *REQUEST), "connect": (*SETTING, *REQUEST), "tenant": REQUEST,
    "server": REQUEST,
}  # fmt: skip
"""Which options each attribute of an invocation reads."""


def commands(group: Any = None, words: str = "") -> Iterator[tuple[str, Any]]:
    """Every command by its words."""
    for name, each in (group or app.whole()).commands.items():
        if isinstance(each, click.Group):
            yield from commands(each, f"{words}{name} ")
        else:
            yield words + name, each


def function_of(command: Any) -> Callable[..., None]:
    """The function that a command runs: one of the cells of its callback."""
    cells = inspect.getclosurevars(command.callback).nonlocals
    found: Callable[..., None] = cells["function"]
    return found


def used(function: Any, seen: set[Any] | None = None) -> set[str]:
    """The options that a function reads through its invocation, itself or in what it calls."""
    seen = set() if seen is None else seen
    if function in seen or not inspect.isfunction(function):
        return set()
    seen.add(function)
    first = next(iter(inspect.signature(function).parameters), "")
    around = inspect.getclosurevars(function)
    tree = ast.parse(dedent(inspect.getsource(function)))
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name == first:
                found.update(NEEDS.get(attr, ()))
            case ast.Call(func=func, args=args) if any(
                isinstance(each, ast.Name) and each.id == first for each in args
            ):
                found |= used(_called(func, around), seen)
            case _:
                pass
    return found


def _called(func: ast.expr, around: inspect.ClosureVars) -> Any:
    known = {**around.globals, **around.nonlocals}
    match func:
        case ast.Name(id=name):
            return known.get(name) or _imported(name)
        case ast.Attribute(value=ast.Name(id=module), attr=name):
            return getattr(known.get(module) or _imported(module), name, None)
        case _:
            return None


def _imported(name: str) -> Any:
    """What commands import when they run."""
    from postroad.cli import receiving, running
    from postroad.cli.checks import run_checks

    return {"running": running, "receiving": receiving, "run_checks": run_checks}.get(name)


def breach(words: str, has: set[str], needs: set[str]) -> str:
    """What is wrong with the shared options of a command."""
    if missing := needs - has:
        return f"{words} uses {sorted(missing)} and has no such option"
    ignored = has - needs
    return f"{words} ignores {sorted(ignored)}" if ignored else ""


def test_a_command_has_the_shared_options_that_it_uses_and_no_others() -> None:
    found = []
    for words, command in commands():
        shared = [each for each in command.params if getattr(each, "panel", "") == PANEL]
        has = {each.name for each in shared}
        found.append(breach(words, has, used(function_of(command))))
    assert [each for each in found if each] == []
    assert len(found) > 40


def test_an_option_that_is_ignored_or_missing_would_be_named() -> None:
    def local(call: BareInvocation) -> None:
        call.reply({}, "done")

    def asks(call: Invocation) -> None:
        tells(call, call.ask("GET", "/"))

    def tells(call: Invocation, said: object) -> None:
        call.table((), [(said,)])

    assert used(local) == set(OUTPUT)
    assert used(asks) == {*SETTING, *REQUEST, *ROWS}
    assert "ignores ['ca_file'" in breach("x", set(Invocation.OPTIONS), used(local))
    assert "uses ['plain']" in breach("x", set(Invocation.OPTIONS), used(asks))
    assert set(Listing.OPTIONS) == set(SHARED)
    assert "server" not in SettingsInvocation.OPTIONS


def test_a_command_reads_each_of_its_own_options() -> None:
    for words, command in commands():
        function = function_of(command)
        names = {
            each.id
            for each in ast.walk(ast.parse(dedent(inspect.getsource(function))))
            if isinstance(each, ast.Name)
        }
        own = list(inspect.signature(function).parameters)[1:]
        assert [each for each in own if each not in names] == [], words


def test_rows_are_printed_by_the_invocation_which_knows_whether_they_are_plain() -> None:
    folder = Path(inspect.getfile(BareInvocation)).parent
    found = {
        file.name
        for file in folder.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
        and node.module == "postroad.cli.printing"
        and {each.name for each in node.names} & {"table", "facts"}
    }
    assert found == {"command.py", "stores.py"}  # what a copy has done is no list


def test_each_group_of_commands_adds_what_the_root_names() -> None:
    for module, names in GROUPS.items():
        inner = Group("one", "")
        import_module(f"postroad.cli.{module}").add(inner)
        assert tuple(inner.commands) == names


def test_the_order_of_commands_does_not_depend_on_which_was_used_first() -> None:
    """The page of commands was another one in a process that had run a command."""
    code = (
        "from click.testing import CliRunner; from postroad.cli.root import app;"
        "CliRunner().invoke(app, ['store', '--help']); print(*app.whole().commands)"
    )
    words = (sys.executable, "-c", code)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [name for names in GROUPS.values() for name in names]
