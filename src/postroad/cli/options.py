"""Commands from functions: annotated parameters become the options and arguments of click."""

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from difflib import get_close_matches
from inspect import Parameter
from pathlib import Path
from types import NoneType
from typing import Any, Final, get_args, get_origin

import click
from click.core import ParameterSource
from click.exceptions import NoSuchCommand

from postroad.model.durations import CENTURY_S
from postroad.model.terminal_text import escaped_line
from postroad.model.texts import NAME_MAX

SPAN: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ?(d|h|min|s|ms|)")
UNITS_S: Final = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}
OPTIONS: Final = "Options"
WIDTH_MAX: Final = 200
SETTINGS: Final = {"help_option_names": ["-h", "--help"], "max_content_width": WIDTH_MAX}


class Option:
    """Marks a parameter as an option. Without flags it is called as the parameter is."""

    def __init__(
        self,
        *flags: str,
        help: str,  # noqa: A002 - the word of click
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        panel: str = OPTIONS,
        metavar: str = "",
        empty: bool = False,
    ) -> None:
        self.flags = flags
        self.empty = empty
        self.metavar = metavar
        self.help = help
        self.range = (min, max)
        self.panel = panel

    def made(self, name: str, kind: Any, default: Any) -> click.Parameter:
        """The same for click."""
        inner, many = _inner(kind)
        flags = self.flags or (f"--{name.replace('_', '-')}",)
        return PanelOption(
            self.panel,
            [name, *flags],
            help=self.help,
            required=default is Parameter.empty,
            default=None if default is Parameter.empty else default,
            multiple=many,
            **(
                {"is_flag": True}
                if inner is bool
                else {
                    "type": _type(inner, self.range, empty=self.empty),
                    "metavar": self.metavar or _metavar(flags[-1], inner),
                }
            ),
        )


class Argument:
    """Marks a parameter as an argument, which is given without a name."""

    def __init__(
        self,
        *,
        help: str,  # noqa: A002
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        empty: bool = False,
    ) -> None:
        self.help = help
        self.range = (min, max)
        self.empty = empty

    def made(self, name: str, kind: Any, default: Any) -> click.Parameter:
        """The same for click."""
        inner, many = _inner(kind)
        required = default is Parameter.empty
        options: dict[str, Any] = {"nargs": -1} if many else {}
        if not required and not many:
            options["default"] = default
        kind = _type(inner, self.range, empty=self.empty)
        return click.Argument([name], required=required, type=kind, help=self.help, **options)


def _metavar(flag: str, inner: Any) -> str:
    """What stands for a value in the help: FILE, N, or the name of the option."""
    if inner is Path:
        return "FILE"
    if inner is timedelta:
        return "TIME"
    return "N" if inner in (int, float) else flag.lstrip("-").replace("-", "_").upper()


def _inner(kind: Any) -> tuple[Any, bool]:
    """The type of one value, and whether there may be many."""
    parts = [each for each in get_args(kind) if each is not NoneType]
    if get_origin(kind) is list:
        return parts[0], True
    return _inner(parts[0]) if NoneType in get_args(kind) else (kind, False)


def _type(
    inner: Any, bounds: tuple[float | None, float | None], *, empty: bool
) -> click.ParamType[Any]:
    least, most = bounds
    if bounds == (None, None) and inner in (int, float):
        return click.INT if inner is int else FiniteFloat()
    if inner is int:
        low = None if least is None else int(least)
        return click.IntRange(low, None if most is None else int(most))
    if inner is float:
        return FiniteRange(least, most)
    if inner is timedelta:
        return Duration()
    kind = click.Path(path_type=Path) if inner is Path else click.STRING
    return kind if empty else NotEmpty(kind)


def _finite(kind: click.ParamType[Any], number: float) -> float:
    """NaN is within all bounds, and JSON has no word for it: sent as null it would mean "none"."""
    if not math.isfinite(number):
        kind.fail(f"{number} is not a number of anything.")
    return number


class NotEmpty(click.ParamType[Any]):
    """A text or a file that is not empty if it is given: `--queue "$QUEUE"` with a variable that is
    not set would mean all queues."""

    def __init__(self, kind: click.ParamType[Any]) -> None:
        self.name = kind.name
        self._kind = kind

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Read it."""
        if value == "" and ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
            self.fail("it is empty: give a value, or leave it out.", param, ctx)
        return self._kind.convert(value, param, ctx)


class Duration(click.ParamType[timedelta]):
    """A time span with its unit, as 30d, 12h, 5min, 90s or 250ms; a number alone is seconds."""

    name = "time"

    def convert(self, value: Any, param: Any, ctx: Any) -> timedelta:
        """Read it."""
        if isinstance(value, timedelta):
            return value
        found = SPAN.fullmatch(str(value).strip())
        seconds = float(found[1]) * UNITS_S[found[2]] if found else math.inf
        if seconds > CENTURY_S:
            self.fail(f"{value!r}: give a time, as 30d, 12h, 5min, 90s or 250ms.", param, ctx)
        return timedelta(seconds=seconds)


class FiniteFloat(click.types.FloatParamType):
    """A float, but not NaN or infinite."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read it."""
        return _finite(self, super().convert(value, param, ctx))


class FiniteRange(click.FloatRange):
    """A float within bounds, and not NaN."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Read it."""
        return _finite(self, super().convert(value, param, ctx))


def made(parameter: Parameter) -> click.Parameter:
    """A parameter of a function for click: its annotation has the mark."""
    kind, mark = get_args(parameter.annotation)[:2]
    found: click.Parameter = mark.made(parameter.name, kind, parameter.default)
    return found


class PanelOption(click.Option):
    """An option in a named part of the help."""

    def __init__(self, panel: str, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.panel = panel


class PanelCommand(click.Command):
    """A command whose help has its own options and the shared ones apart."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write these parts."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx) if isinstance(each, click.Option) else None
            if record is not None:
                panels.setdefault(getattr(each, "panel", OPTIONS), []).append(record)
        _write(formatter, panels)


class Group(click.Group):
    """A group of commands, listed by panels, each with its whole help. Usage errors show control
    characters instead of sending them."""

    def __init__(self, name: str, text: str, params: Sequence[click.Parameter] = ()) -> None:
        super().__init__(
            name, help=text, params=list(params), no_args_is_help=True, context_settings=SETTINGS
        )
        self._panels: dict[str, str] = {}
        self.otherwise = ""
        """The command that is meant when none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments."""
        named = args and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(
            ctx, [self.otherwise, *args] if self.otherwise and not named else args
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called; of an unknown one, which may have been meant."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as unknown:
            meant = [f"`postroad {name}`" for name in self.meant(ctx, unknown.command_name)]
            if not meant:
                raise
            raise click.UsageError(
                f"{unknown.message} Did you mean {' or '.join(meant)}?", ctx
            ) from None

    def meant(self, ctx: click.Context, name: str) -> list[str]:
        """Commands of like names, or for `message list` the one that lists messages."""
        lists, outer = f"{self.name}s", ctx.find_root()
        root = outer.command
        if name == "list" and isinstance(root, Group) and root.get_command(outer, lists):
            return [lists]
        return [f"{self.name} {near}" for near in get_close_matches(name[:NAME_MAX], self.commands)]

    def put(self, command: click.Command, panel: str) -> None:
        """Add a command to a panel of the list."""
        self.add_command(command)
        self._panels[command.name or ""] = panel

    def subgroup(self, name: str, panel: str, text: str) -> "Group":
        """Add a group of commands under a name."""
        inner = Group(name, text)
        self.put(inner, panel)
        return inner

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the commands' names in the order in which they were added."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            text = (self.commands[name].help or "").partition("\n")[0]
            panels.setdefault(self._panels[name], []).append((name, text))
        _write(formatter, panels)

    def make_context(self, *given: Any, **options: Any) -> click.Context:
        """Read the command line."""
        with _shown():
            return super().make_context(*given, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _shown():
            return super().invoke(ctx)


def _write(formatter: click.HelpFormatter, panels: dict[str, list[tuple[str, str]]]) -> None:
    for panel, records in panels.items():
        with formatter.section(panel):
            formatter.write_dl(records)


@contextmanager
def _shown() -> Iterator[None]:
    """Show control characters in the message of a usage error instead of sending them."""
    try:
        yield
    except click.exceptions.NoArgsIsHelpError:
        raise  # its message is the help, which is our own text
    except click.ClickException as error:
        number = isinstance(error, click.NoSuchOption) and error.option_name[1:2].isdigit()
        hint = " A value that begins with - goes behind --, as in: send cpu -- -1" if number else ""
        error.message = escaped_line(error.message + hint)  # type: ignore[misc]
        raise
