"""`postroad up`, `api` and `worker`: processes that stay."""

from typing import Annotated

import typer

from postroad.cli.command import Invocation, command

App = Annotated[
    str, typer.Option("--app", help="Your handlers, as MODULE:ROAD, for example tasks:road.")
]
Listen = Annotated[str, typer.Option("--listen", help="HOST:PORT of the API.")]
LogLevel = Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")]


def add(app: typer.Typer) -> None:
    """These commands."""

    @command(app, "up", rich_help_panel="Run")
    def up(call: Invocation, app: App = "", listen: Listen = "", log_level: LogLevel = "") -> None:
        """Run everything in one process, API, worker and hub: on SQLite in ./road/ unless told."""
        del listen, log_level
        serve(call, app, api=True, delivers=True, hub=True)

    @command(app, "hub", rich_help_panel="Run")
    def hub(call: Invocation, listen: Listen = "", log_level: LogLevel = "") -> None:
        """Serve mailboxes to those who connect, without delivering. (Commands on this machine
        reach it; the setting hub_listen says where it listens.)"""
        del listen, log_level
        serve(call, "", api=False, delivers=False, hub=True)

    @command(app, "api", rich_help_panel="Run")
    def api(call: Invocation, app: App = "", listen: Listen = "", log_level: LogLevel = "") -> None:
        """Run the API alone; workers deliver."""
        del listen, log_level
        serve(call, app, api=True, delivers=False)

    @command(app, "worker", rich_help_panel="Run")
    def worker(
        call: Invocation, app: App = "", listen: Listen = "", log_level: LogLevel = ""
    ) -> None:
        """Deliver, without an open API. (Commands on this machine still reach it; --listen opens
        its port, for health checks and metrics.)"""
        del listen, log_level
        serve(call, app, api=False, delivers=True)


def serve(call: Invocation, app: str, *, api: bool, delivers: bool, hub: bool = False) -> None:
    """Runs until stopped."""
    from postroad.cli import running  # an engine takes a while to load

    running.serve(call, app, api=api, delivers=delivers, hub=hub)
