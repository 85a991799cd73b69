"""`postroad up`, `api` and `worker`: processes that stay."""

from typing import Annotated

from postroad.cli.frame import CommandCall, command
from postroad.cli.options import Group, Option
from postroad.model.extras import Needing

App = Annotated[str, Option("--app", help="Your handlers, as MODULE:ROAD, for example tasks:road.")]
Listen = Annotated[str, Option("--listen", help="HOST:PORT of the API.")]
LogLevel = Annotated[str, Option("--log-level", help="debug, info, warning or error.")]


def add(app: Group) -> None:
    """These commands."""

    @command(app, "up", panel="Run")
    def up(call: CommandCall, app: App = "", listen: Listen = "", log_level: LogLevel = "") -> None:
        """Run everything in one process, API, worker and hub: on SQLite in ./road/ unless told."""
        del listen, log_level
        serve(call, app, api=True, delivers=True, hub=True)

    @command(app, "hub", panel="Run")
    def hub(call: CommandCall, listen: Listen = "", log_level: LogLevel = "") -> None:
        """Serve mailboxes to those who connect, without delivering. (Commands on this machine
        reach it; the setting hub_listen says where it listens.)"""
        del listen, log_level
        serve(call, "", api=False, delivers=False, hub=True)

    @command(app, "api", panel="Run")
    def api(
        call: CommandCall, app: App = "", listen: Listen = "", log_level: LogLevel = ""
    ) -> None:
        """Run the API alone; workers deliver."""
        del listen, log_level
        serve(call, app, api=True, delivers=False)

    @command(app, "worker", panel="Run")
    def worker(
        call: CommandCall, app: App = "", listen: Listen = "", log_level: LogLevel = ""
    ) -> None:
        """Deliver, without an open API. (Commands on this machine still reach it; --listen opens
        its port, for health checks and metrics.)"""
        del listen, log_level
        serve(call, app, api=False, delivers=True)


def serve(call: CommandCall, app: str, *, api: bool, delivers: bool, hub: bool = False) -> None:
    """Runs until stopped."""
    with Needing("a server"):
        from postroad.cli import running  # an engine takes a while to load

    running.serve(call, app, api=api, delivers=delivers, hub=hub)
