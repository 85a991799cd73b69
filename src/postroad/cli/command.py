"""What all commands share: which road they use, how they print answers, how they end on errors."""

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, NoReturn, get_type_hints

import click
import msgspec
from click.exceptions import Exit
from msgspec import Struct, structs

from postroad.api.problems import problem
from postroad.cli.client import Query, RequestRefused, RoadClient, exit_code
from postroad.cli.options import SETTINGS, Argument, Group, Option, PanelCommand, made
from postroad.cli.printing import as_json, err, facts, failed, more, out, table
from postroad.cli.shared_options import OUTPUT, REQUEST, ROWS, SETTING, Names, shared_parameters
from postroad.config import FILE, Loaded, Settings, load
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import (
    BadInput,
    PostroadError,
)
from postroad.model.problem import Problem

BASE: Final = structs.replace(Settings(), dsn="sqlite:///road/road.db")
"""Settings of commands when nothing is configured: a road in ./road/."""


class BareInvocation:
    """One run of a command. The first parameter of a command is of one of these classes, and the
    command has the options that the class uses."""

    OPTIONS: ClassVar[Names] = ()

    def __init__(self, options: dict[str, Any]) -> None:
        self.json: bool = options.get("json", False)
        self.plain: bool = options.get("plain", False)
        self._options = options

    def printed(self, said: object) -> bool:
        """Print an answer as JSON if --json was given; False if it was not."""
        if self.json:
            as_json(said)
        return self.json

    def reply(self, said: object, text: str) -> None:
        """Print an answer as JSON if --json was given, else as a line of text."""
        if not self.printed(said):
            out().print(text)

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str = ""
    ) -> None:
        """Print a table; `empty` is for no rows."""
        table(columns, rows, empty, plain=self.plain)

    def facts(self, pairs: Iterable[tuple[str, object]]) -> None:
        """Print names and values, one pair a line."""
        facts(pairs, plain=self.plain)


class LocalInvocation(BareInvocation):
    """A run of a command that needs no road."""

    OPTIONS: ClassVar[Names] = OUTPUT


class ServerInvocation(BareInvocation):
    """A run of a command that serves until it is stopped."""

    OPTIONS: ClassVar[Names] = SETTING

    def loaded(self) -> Loaded:
        """Read the settings, and where each comes from."""
        example = ", as in limits.drain_s=30"
        flags = dict(named_value("--set", each, example) for each in self._options["set"] or ())
        for name in ("dsn", "listen", "log_level"):
            if self._options.get(name):
                flags[name] = self._options[name]
        return load(flags, os.environ, self._file(), _base())

    def _file(self) -> Path | None:
        named = self._options["config"] or os.environ.get("POSTROAD_CONFIG")
        if named:
            return Path(named)
        return Path(FILE) if Path(FILE).exists() else None


class SettingsInvocation(ServerInvocation):
    """A run of a command that reads the settings and asks no server."""

    OPTIONS: ClassVar[Names] = (*OUTPUT, *SETTING)


class SettingsListing(SettingsInvocation):
    """A run of a command that prints settings as rows."""

    OPTIONS: ClassVar[Names] = (*OUTPUT, *ROWS, *SETTING)


class Invocation(SettingsInvocation):
    """A run of a command that makes requests to the road that its options name."""

    OPTIONS: ClassVar[Names] = (*OUTPUT, *SETTING, *REQUEST)

    @property
    def tenant(self) -> str:
        """Whose queues are meant."""
        return self._options["tenant"] or os.environ.get("POSTROAD_TENANT") or DEFAULT_TENANT

    @property
    def server(self) -> str:
        """The server that is named to be asked; "" is none."""
        return self._options["server"] or os.environ.get("POSTROAD_SERVER", "")

    def connect(self) -> RoadClient:
        """A client of the road that the options name, to be used in a `with` block."""
        server, token = self.server, ""
        if server:
            token = _token(self._options["token_file"])
        ca_file = str(self._options["ca_file"] or os.environ.get("POSTROAD_CA_FILE", ""))
        return RoadClient(self.loaded().settings, server, token, self.tenant, ca_file)

    def ask(self, method: str, path: str, query: Query = None, data: object = None) -> Any:
        """Make one request to the road, and return the answer's data."""
        with self.connect() as road:
            return road.ask(method, path, query, data)

    def delete(self, path: str, name: str, query: Query = None, *, done: str = "deleted") -> None:
        """Delete what is named, and say that it was done."""
        _ = self.ask("DELETE", path, query)  # a refusal is raised
        self.reply({done: name}, f"{done}: {name}")


class ExportInvocation(Invocation):
    """A run of a command that makes requests and always writes JSON."""

    OPTIONS: ClassVar[Names] = (*SETTING, *REQUEST)


class Listing(Invocation):
    """A run of a command that makes requests and prints rows, which have a form for programs."""

    OPTIONS: ClassVar[Names] = (*Invocation.OPTIONS, *ROWS)

    def listed(
        self,
        path: str,
        columns: Sequence[str],
        row: Callable[[Any], Sequence[object]],
        empty: str = "",
        **query: object,
    ) -> None:
        """Ask for a list, or for a page that holds one, and print a row for each of its entries.
        Print `empty` if there are none."""
        said = self.ask("GET", path, query)
        if self.printed(said):
            return
        page: dict[str, Any] = {"entries": said} if isinstance(said, list) else said
        entries = next(part for part in page.values() if isinstance(part, list))
        self.table(columns, map(row, entries), empty)
        more(page.get("after", ""))


def _base() -> Settings:
    """With nothing configured: a road in ./road/, or ./road.db where a program made that one."""
    there = Path("road/road.db").exists() or not Path("road.db").exists()
    return BASE if there else Settings()


def _token(file: Path | None) -> str:
    try:
        text = file.read_text().strip() if file else os.environ.get("POSTROAD_TOKEN", "")
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"cannot read {file}: it is not text") from None
    if not text:
        raise BadInput("a server asks for a token: set POSTROAD_TOKEN, or give --token-file FILE")
    return text


def named_value(option: str, text: str, example: str = "") -> tuple[str, str]:
    """Split NAME=VALUE. An error does not show the text: it may hold a secret."""
    name, mark, value = text.partition("=")
    if not mark:
        raise BadInput(f"{option}: give NAME=VALUE{example}")
    return name.strip(), value.strip()


def read_json(what: str, text: str, hint: str = "") -> Any:
    """Read a value that is given as JSON. It has no NaN and no infinity: they would become null."""
    try:
        return msgspec.json.decode(text)
    except UnicodeEncodeError:
        raise BadInput(f"{what} is not UTF-8") from None
    except (msgspec.DecodeError, RecursionError):
        raise BadInput(f"{what} is not JSON{hint}") from None


MessageId = Annotated[str, Argument(help="The message's id, as in its receipt: msg_…")]
Limit = Annotated[int, Option(help="Show at most this many.")]
After = Annotated[str, Option(help="Continue after this row, as the page before says.", empty=True)]
Yes = Annotated[bool, Option("--yes", help="Do not ask for confirmation.")]


Commands = dict[str, Callable[..., None]]


class SharedOptions(Struct, frozen=True):
    """Options that some commands share: a parameter of such a type stands for its fields."""


def _spread(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    kind = parameter.annotation
    if not _is_spread(kind):
        return [parameter]
    hints = get_type_hints(kind, include_extras=True)
    return [
        parameter.replace(name=each.name, annotation=hints[each.name], default=each.default)
        for each in structs.fields(kind)
    ]


def _is_spread(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, SharedOptions)


def command(group: Group, name: str, panel: str = "", **options: Any) -> Callable[[Any], Any]:
    """Add a function as a command. The class of its first parameter says which shared options are
    added to its own."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        first, *own = inspect.signature(function, eval_str=True).parameters.values()
        invocation: type[BareInvocation] = first.annotation
        spread = {each.name: each.annotation for each in own if _is_spread(each.annotation)}
        shared = shared_parameters(invocation.OPTIONS)

        def run(**given: Any) -> None:
            given = {each: _given(value) for each, value in given.items()}
            extra = {each: given[each] for each in ("listen", "log_level") if each in given}
            call = invocation({each.name: given.pop(each.name) for each in shared} | extra)
            for each, kind in spread.items():
                given[each] = kind(**{field: given.pop(field) for field in kind.__struct_fields__})
            ending(call, function, given)

        parameters = [*(part for each in own for part in _spread(each)), *shared]
        # One paragraph is one line: else the list of commands keeps the breaks of the source.
        text = options.get("help") or inspect.cleandoc(function.__doc__ or "").replace("\n", " ")
        params = [made(each) for each in parameters]
        group.put(
            PanelCommand(name, callback=run, params=params, help=text, context_settings=SETTINGS),
            panel or "Commands",
        )
        return function

    return add


def _given(value: Any) -> Any:
    """What was given many times as a list; None when it was not given."""
    return (list(value) or None) if isinstance(value, tuple) else value


def add_group(
    app: Group, name: str, panel: str, text: str, commands: Commands, otherwise: str = ""
) -> None:
    """Add a group of commands, each by its name; `otherwise` is meant when none is named."""
    group = app.subgroup(name, panel, text)
    group.otherwise = otherwise
    for each, function in commands.items():
        command(group, each)(function)


def confirmed(question: str) -> bool:
    """Ask on the terminal; False if nobody can answer."""
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        return False


def ending(call: BareInvocation, function: Callable[..., None], given: dict[str, Any]) -> None:
    """Run a command. A known error ends it with the error's text and exit code."""
    try:
        function(call, **given)
    except RequestRefused as refused:
        give_up(call, refused.problem, exit_code(refused.problem.status))
    except PostroadError as error:
        told = problem(error)
        give_up(call, told, exit_code(told.status))
    except BrokenPipeError:
        raise Exit(1) from None
    except KeyboardInterrupt:
        raise Exit(130) from None


def give_up(call: BareInvocation, told: Problem, code: int) -> NoReturn:
    """Print why on standard error, and exit."""
    if call.json:
        as_json(told, error=True)
    else:
        failed(told.detail)
        for one in told.errors if len(told.errors) > 1 else ():
            err().print(f"{one.field}: {one.message}")
    raise Exit(code)
