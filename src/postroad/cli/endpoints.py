"""`postroad endpoint`: the places that events are sent to."""

import json
from datetime import timedelta
from typing import Annotated, Any

from postroad.cli.access import AccessSettings, access_data, access_rows
from postroad.cli.command import (
    After,
    Commands,
    Invocation,
    Limit,
    Listing,
    SharedOptions,
    add_group,
    named_value,
    read_json,
)
from postroad.cli.endpoint_life import LIFE
from postroad.cli.feeds import FEEDS
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, out, when
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

Id = Annotated[str, Argument(help="The endpoint's id: ep_…")]
Operator = Annotated[bool, Option("--operator", help="As an operator: its owner cannot undo it.")]


class EndpointSettings(SharedOptions, frozen=True):
    """What can be set when an endpoint is made, and changed later."""

    type: Annotated[
        list[str] | None, Option("--type", help="An event type, as order.paid or order.*.")
    ] = None
    channel: Annotated[
        list[str] | None, Option(help="A channel that events must have; may be repeated.")
    ] = None
    filter: Annotated[
        str | None, Option(help="What bodies must be like, as JSON; `null` is anything.")
    ] = None
    description: Annotated[str | None, Option(help="A few words about it.")] = None
    metadata: Annotated[list[str] | None, Option(help="NAME=VALUE of your own.")] = None
    header: Annotated[
        list[str] | None, Option(help="NAME=VALUE to send with every request; stored encrypted.")
    ] = None
    reject: Annotated[
        list[int] | None, Option(help="A status after which a message is never tried again.")
    ] = None
    timeout: Annotated[timedelta | None, Option(help="How long a whole try may take, as 15s.")] = (
        None
    )
    connect_timeout: Annotated[
        timedelta | None, Option(help="How long connecting may take, as 3s.")
    ] = None
    ladder: Annotated[
        str | None, Option(help='When tries are repeated, as JSON: {"type": "steps", …}.')
    ] = None
    keep_bodies: Annotated[
        timedelta | None, Option(help="How long bodies of delivered events are kept, as 7d.")
    ] = None
    rate: Annotated[str | None, Option(help="How many tries may start, as 50/s.")] = None
    expires_in: Annotated[
        timedelta | None, Option(help="Delete it after so long, as 1h; 0s is never.")
    ] = None


def add(app: Group) -> None:
    """Add the commands for endpoints."""
    commands: Commands = {"create": create, "list": list_endpoints, "show": show, "set": change}
    commands |= {"enable": enable, "disable": disable, "rotate": rotate, "delete": delete}
    commands |= LIFE | FEEDS
    text = "Endpoints: where events are sent to, which of them, and the secrets."
    add_group(app, "endpoint", "Events", text, commands)


def create(
    call: Invocation,
    settings: EndpointSettings,
    access: AccessSettings,
    url: Annotated[str, Argument(help="Where its events are sent to; none with --pull.")] = "",
    pull: Annotated[bool, Option("--pull", help="It is read by `endpoint feed`.")] = False,
    ordered: Annotated[
        bool, Option("--ordered", help="One event after the other, in order.")
    ] = False,
    secret: Annotated[str, Option(help="A secret of yours to sign with: whsec_….")] = "",
) -> None:
    """Make an endpoint, and print its secret, this once."""
    about = {"url": url, "pull": pull, "ordered": ordered, "secret": secret}
    data = {**about, **_given(settings), **access_data(access)}
    _secret(call, call.ask("POST", "/v1/endpoints", data=data))


def _secret(call: Invocation, said: dict[str, Any]) -> None:
    if call.printed(said):
        return
    out().print(f"endpoint: {said['id']}")
    out().print(f"secret:   {said['secret']} (it is not shown again)")
    if unknown := ", ".join(said["unknown_types"]):
        err().print(f"this road has no event types {unknown}: `postroad event-type list` has all")


def _given(settings: EndpointSettings) -> dict[str, Any]:
    data: dict[str, Any] = {"types": settings.type, "channels": settings.channel}
    data |= {name: getattr(settings, name) for name in ("description", "reject", "rate")}
    for name, given in (("metadata", settings.metadata), ("headers", settings.header)):
        data[name] = given and dict(named_value(f"--{name}", each) for each in given)
    for name in ("connect_timeout", "timeout", "keep_bodies", "expires_in"):
        given = getattr(settings, name)
        data[name] = None if given is None else given.total_seconds()
    data = {name: value for name, value in data.items() if value is not None}
    for name in ("filter", "ladder"):
        if (text := getattr(settings, name)) is not None:
            data[name] = read_json(f"--{name}", text, ": see docs/guide/events.md")
    return data


def list_endpoints(call: Listing, limit: Limit = 100, after: After = "") -> None:
    """List the endpoints."""
    columns = ("endpoint", "url~", "types~", "channels~", "state", "health", "description~")
    call.listed(
        "/v1/endpoints",
        columns,
        lambda one: (
            one["id"],
            one["url"] or "(pull)",
            ", ".join(one["types"]) or "*",
            ", ".join(one["channels"]),
            _state(one | {"reason": ""}),
            one["health"],
            one["description"],
        ),
        "there are no endpoints: `postroad endpoint create`",
        limit=limit,
        after=after,
    )


def show(call: Listing, id: Id) -> None:  # noqa: A002
    """Show an endpoint; of secrets only how many there are."""
    _tell(call, call.ask("GET", f"/v1/endpoints/{part(id)}"))


def change(
    call: Listing,
    id: Id,  # noqa: A002
    settings: EndpointSettings,
    access: AccessSettings,
    url: Annotated[str | None, Option(help="Another URL: what waits goes there.")] = None,
) -> None:
    """Change an endpoint; options that are not given keep their values."""
    data = _given(settings) | access_data(access) | ({"url": url} if url else {})
    if not data:
        raise BadInput("nothing is to change: give an option, see `postroad endpoint set --help`")
    _tell(call, call.ask("PATCH", f"/v1/endpoints/{part(id)}", data=data))


def enable(call: Listing, id: Id, operator: Operator = False) -> None:  # noqa: A002
    """Send to an endpoint again; what was held drains."""
    data = {"state": "enabled", "by": "operator" if operator else "owner"}
    _tell(call, call.ask("PATCH", f"/v1/endpoints/{part(id)}", data=data))


def disable(
    call: Listing,
    id: Id,  # noqa: A002
    reason: Annotated[str, Option(help="Why, for those who look at it.")] = "",
    operator: Operator = False,
) -> None:
    """Send nothing to an endpoint; what is meant for it is held."""
    by = "operator" if operator else "owner"
    data = {"state": "disabled", "reason": reason, "by": by}
    _tell(call, call.ask("PATCH", f"/v1/endpoints/{part(id)}", data=data))


def rotate(
    call: Invocation,
    id: Id,  # noqa: A002
    overlap: Annotated[
        timedelta | None, Option(help="How long the old secret signs too, as 2d; else a day.")
    ] = None,
) -> None:
    """Give an endpoint a new secret, and print it, this once."""
    data = {} if overlap is None else {"overlap": overlap.total_seconds()}
    _secret(call, call.ask("POST", f"/v1/endpoints/{part(id)}/rotate", data=data))


def delete(call: Invocation, id: Id) -> None:  # noqa: A002
    """Delete an endpoint; what waits for it is cancelled."""
    call.delete(f"/v1/endpoints/{part(id)}", id)


def _state(said: dict[str, Any]) -> str:
    by = said["disabled_by"] and f"by {said['disabled_by']}"
    return " ".join(filter(None, (said["state"], by))) + (said["reason"] and f": {said['reason']}")


def _health(said: dict[str, Any]) -> str:
    if said["health"] == "healthy":
        return "healthy"
    return f"failing since {when(said['failing_since_ms'])}: {said['last_error']}"


def _tell(call: Listing, said: dict[str, Any]) -> None:
    if call.printed(said):
        return
    ends, unknown = said["secret_ends_at_ms"], ", ".join(said["unknown_types"])
    call.facts(
        [
            ("endpoint", said["id"]),
            ("url", said["url"] or "none: it is read"),
            ("description", said["description"] or "none"),
            ("state", _state(said)),
            ("health", _health(said)),
            ("types", ", ".join(said["types"]) or "all"),
            *(
                [("unknown types", ", ".join(unknown))]
                if (unknown := said["unknown_types"])
                else []
            ),
            ("channels", ", ".join(said["channels"]) or "any"),
            ("filter", "none" if said["filter"] is None else json.dumps(said["filter"])),
            ("secrets", f"{said['secrets']}, one until {when(ends)}" if ends else said["secrets"]),
            ("headers", ", ".join(said["headers"]) or "none"),
            ("rate", said["rate"] or "no limit"),
            ("ordered", "yes" if said["ordered"] else "no"),
            ("in all", f"{said['timeout_ms']} ms"),
            *access_rows(said),
            ("expires", when(said["expires_at_ms"]) if said["expires_at_ms"] else "never"),
            ("queue", said["queue"]),
        ]
    )
