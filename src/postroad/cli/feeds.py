"""`postroad endpoint feed` and `ack`: endpoints that are read."""

from datetime import timedelta
from typing import Annotated, Any

from postroad.cli.command import Commands, Invocation
from postroad.cli.options import Argument, Option
from postroad.cli.printing import out
from postroad.remote.api_request import part

Id = Annotated[str, Argument(help="The endpoint's id: ep_…")]


def feed(
    call: Invocation,
    id: Id,  # noqa: A002
    max: Annotated[int, Option(help="How many messages at most.")] = 100,  # noqa: A002
    wait: Annotated[
        timedelta, Option(help="How long to wait for the first one, as 30s; 40s at most.")
    ] = timedelta(),
    lease: Annotated[
        timedelta, Option(help="After so long without an ack they come again, as 5min.")
    ] = timedelta(minutes=1),
    ack: Annotated[bool, Option("--ack", help="Ack them when they are printed.")] = False,
) -> None:
    """Read the next messages of an endpoint that was made with --pull."""
    times = {"wait": wait.total_seconds(), "lease": lease.total_seconds()}
    path = f"/v1/endpoints/{part(id)}"
    with call.connect() as road:
        said = road.ask("GET", f"{path}/feed", {"max": max, **times})
        _print(call, said)
        if ack and said["messages"]:
            data = {"ids": [one["id"] for one in said["messages"]]}
            _ = road.ask("POST", f"{path}/ack", data=data)  # some may be done already


def _print(call: Invocation, said: dict[str, Any]) -> None:
    if call.printed(said):
        return
    for one in said["messages"]:
        out().print(f"{one['id']} {one['type']} {one['body'] or one['data']}")


def ack(
    call: Invocation,
    id: Id,  # noqa: A002
    ids: Annotated[list[str], Argument(help="What was read: msg_….")],
) -> None:
    """Ack messages that were read from an endpoint."""
    said = call.ask("POST", f"/v1/endpoints/{part(id)}/ack", data={"ids": ids})
    if not call.printed(said):
        others = f", {len(said['others'])} wait for no ack" if said["others"] else ""
        out().print(f"acked: {said['acked']}{others}")


FEEDS: Commands = {"feed": feed, "ack": ack}
