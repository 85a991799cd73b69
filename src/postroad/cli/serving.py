"""`postroad up`, `hub`, `api` and `worker`: processes that run until stopped."""

from typing import Annotated

import typer

from postroad.cli.command import Invocation, command

App = Annotated[
    str,
    typer.Option(
        "--app", help="The road with your handlers, as MODULE:NAME, for example tasks:road."
    ),
]
Listen = Annotated[str, typer.Option("--listen", help="HOST:PORT that the API listens on.")]
LogLevel = Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")]


def add(app: typer.Typer) -> None:
    """Add the commands."""

    @command(app, "up", rich_help_panel="Run")
    def up(call: Invocation, app: App = "", listen: Listen = "", log_level: LogLevel = "") -> None:
        """Run API, worker and hub in one process, on SQLite in ./road/ unless --dsn is given."""
        del listen, log_level
        serve(call, app, api=True, delivers=True, hub=True)

    @command(app, "hub", rich_help_panel="Run")
    def hub(call: Invocation, listen: Listen = "", log_level: LogLevel = "") -> None:
        """Run the hub alone: it serves mailboxes and delivers nothing else. The setting hub_listen
        says where it listens; commands on this machine reach it."""
        del listen, log_level
        serve(call, "", api=False, delivers=False, hub=True)

    @command(app, "api", rich_help_panel="Run")
    def api(call: Invocation, app: App = "", listen: Listen = "", log_level: LogLevel = "") -> None:
        """Run the API alone; workers deliver what it accepts."""
        del listen, log_level
        serve(call, app, api=True, delivers=False)

    @command(app, "worker", rich_help_panel="Run")
    def worker(
        call: Invocation, app: App = "", listen: Listen = "", log_level: LogLevel = ""
    ) -> None:
        """Run a worker: it delivers, without an open API. Commands on this machine still reach it;
        --listen opens a port for health checks and metrics."""
        del listen, log_level
        serve(call, app, api=False, delivers=True)


def serve(call: Invocation, app: str, *, api: bool, delivers: bool, hub: bool = False) -> None:
    """Run until stopped."""
    from postroad.cli import running  # an engine takes a while to load

    running.serve(call, app, api=api, delivers=delivers, hub=hub)
