"""`postroad limit` and `limits`: how fast and when tries start, of queues, lanes and providers."""

from typing import Annotated, Any

from postroad.cli.command import Invocation, Listing, SharedOptions, command
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import when
from postroad.cli.queues import LaneNumber, Queue, meant
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

Rate = Annotated[
    str, Argument(help="As 50/s, or 50/s,1000/h for several windows; none lifts the limit.")
]
Everywhere = Annotated[bool, Option("--everywhere", help="For the lanes of every tenant.")]


class LimitFlags(SharedOptions, frozen=True):
    """What a limit says besides its rate."""

    cost: Annotated[int, Option(help="How many slots of the limit each try takes.")] = 1
    hours: Annotated[str, Option(help="When tries may start, as 09:00-20:00.")] = ""
    zone: Annotated[str, Option(help="Where these hours are meant, as Asia/Singapore.")] = ""
    name: Annotated[str, Option(help="A name, for a limit that all lanes of --lanes share.")] = ""
    lanes: Annotated[str, Option(help="A pattern of TRANSPORT:SERVER, as 'smtp:*.google.com'.")] = (
        ""
    )
    everywhere: Everywhere = False


def add(app: Group) -> None:
    """Add the commands for limits."""
    command(app, "limit", panel="Queues and lanes")(limit)
    command(app, "limits", panel="Queues and lanes")(limits)


def limit(
    call: Invocation, rate: Rate, queue: Queue = "", lane: LaneNumber = 0, *, how: LimitFlags
) -> None:
    """Limit how many tries start, in the whole fleet, from now on: of a queue, of a lane's
    credential, or, with a name, of all lanes that a pattern means."""
    wish: dict[str, Any] = {"cost": how.cost, "hours": how.hours, "zone": how.zone}
    if how.name:
        if queue or lane:
            raise BadInput("a named limit is for --lanes: leave the queue and --lane out")
        _named(call, rate, how, wish)
        return
    if how.lanes or how.everywhere:
        raise BadInput("--lanes and --everywhere are for a limit with a --name")
    kind, which = meant(queue, lane)
    wish |= {kind: which, "rate": None if rate == "none" else rate}
    said = call.ask("POST", f"/v1/{kind}s:limit", data=wish)
    call.reply(said, f"{kind} {which} from now on: {_words(rate, how)}")


def _named(call: Invocation, rate: str, how: LimitFlags, wish: dict[str, Any]) -> None:
    if rate == "none" and not how.hours:
        query = {"everywhere": "true"} if how.everywhere else {}
        _ = call.ask("DELETE", f"/v1/limits/{part(how.name)}", query)  # a refusal is raised
        call.reply({"deleted": how.name}, f"lifted: {how.name}")
        return
    wish |= {"name": how.name, "lanes": how.lanes, "rate": "" if rate == "none" else rate}
    said = call.ask("POST", "/v1/limits", data=wish | {"everywhere": how.everywhere})
    call.reply(said, f"{said['name']} for {said['lanes']} from now on: {_words(rate, how)}")


def _words(rate: str, how: LimitFlags) -> str:
    hours = f"{how.hours} {how.zone or 'UTC'}" if how.hours else ""
    return ", ".join(word for word in (rate, hours) if word and (word != "none" or not hours))


def limits(call: Listing) -> None:
    """List the limits that many lanes share; `explain` shows those of a queue."""
    columns = ("limit", "lanes~", "rate", "cost#", "hours", "tenant", "until")
    call.listed(
        "/v1/limits",
        columns,
        lambda one: (
            one["name"],
            one["lanes"],
            one["rate"],
            one["cost"],
            f"{one['hours']} {one['zone']}".strip(),
            one["tenant"],
            when(one["until_ms"]),
        ),
        "no named limits: `postroad limit RATE --name NAME --lanes PATTERN`",
    )
