"""`postroad up`, `hub`, `api` and `worker`: processes that run until stopped."""

from typing import Annotated, TypedDict, Unpack

from postroad.cli.command import ServerInvocation, SharedOptions, command
from postroad.cli.loading import loading
from postroad.cli.options import Group, Option
from postroad.model.extras import Needing

App = Annotated[
    str,
    Option("--app", help="The road with your handlers, as MODULE:NAME, for example tasks:road."),
]
Listen = Annotated[str, Option("--listen", help="HOST:PORT that the API listens on.")]
Processes = Annotated[
    int | None,
    Option(
        "--processes",
        min=1,
        help="How many processes deliver, under one supervisor. On PostgreSQL one for each core "
        "unless given; a SQLite file has one.",
    ),
]
LogLevel = Annotated[str, Option("--log-level", help="debug, info, warning or error.")]


class ServerOptions(SharedOptions, frozen=True):
    """The application, and the options that are settings: `ServerInvocation` reads those."""

    app: App = ""
    listen: Listen = ""
    log_level: LogLevel = ""


class WorkerOptions(ServerOptions, frozen=True):
    """Options of processes that deliver."""

    processes: Processes = None


class RoleOptions(TypedDict, total=False):
    """What a process does."""

    api: bool
    delivers: bool
    hub: bool
    processes: int | None


def add(app: Group) -> None:
    """Add the commands."""

    @command(app, "up", panel="Run")
    def up(call: ServerInvocation, how: WorkerOptions) -> None:
        """Run API, worker and hub, on SQLite in ./road/ unless --dsn is given."""
        serve(call, how.app, api=True, delivers=True, hub=True, processes=how.processes)

    @command(app, "hub", panel="Run")
    def hub(call: ServerInvocation, listen: Listen = "", log_level: LogLevel = "") -> None:
        """Run the hub alone: it serves mailboxes and delivers nothing else. The setting hub_listen
        says where it listens; commands on this machine reach it."""
        del listen, log_level
        serve(call, "", hub=True)

    @command(app, "api", panel="Run")
    def api(call: ServerInvocation, how: ServerOptions) -> None:
        """Run the API alone; workers deliver what it accepts."""
        serve(call, how.app, api=True)

    @command(app, "worker", panel="Run")
    def worker(call: ServerInvocation, how: WorkerOptions) -> None:
        """Run a worker: it delivers, without an open API. Commands on this machine still reach it;
        --listen opens a port for health checks and metrics."""
        serve(call, how.app, delivers=True, processes=how.processes)


def serve(call: ServerInvocation, app: str, **role: Unpack[RoleOptions]) -> None:
    """Run until stopped."""
    with Needing("a server"), loading():
        from postroad.cli import running  # an engine takes a while to load

    running.serve(call, app, running.ServerRole(**role))
