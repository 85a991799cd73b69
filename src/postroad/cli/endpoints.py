"""`postroad endpoint`: how a webhook is called."""

import os
import shlex
from typing import Annotated, Any

import typer

from postroad.api.inside import part
from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, out, table, when
from postroad.model.errors import BadInput

Url = Annotated[str, typer.Argument(help="The webhook's URL.")]


def add(app: typer.Typer) -> None:
    """These commands."""
    group = typer.Typer(no_args_is_help=True, help="Webhooks: how they are called.")
    app.add_typer(group, name="endpoint", rich_help_panel="Look after it")
    command(group, "set")(set_endpoint)
    command(group, "show")(show)
    command(group, "list")(list_endpoints)
    command(group, "delete")(delete)
    command(group, "attempts")(attempts)


def set_endpoint(
    call: Invocation,
    url: Url,
    sign: Annotated[
        bool, typer.Option("--sign", help="Sign with the keys in POSTROAD_SECRET, by blanks.")
    ] = False,
    header: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE, sent with every request, stored sealed.")
    ] = None,
    reject: Annotated[list[int] | None, typer.Option(help="A status that means never.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for a whole try.")] = None,
    connect_timeout: Annotated[
        float | None, typer.Option(help="Seconds for its connection.")
    ] = None,
) -> None:
    """Set how a webhook is called, and make its queue when it is new. What is not named stays."""
    data: dict[str, Any] = {"url": url}
    if sign:
        data["secrets"] = _keys()
    if header:
        data["headers"] = dict(_pair(each) for each in header)
    named = {"reject": reject, "timeout": timeout, "connect_timeout": connect_timeout}
    data |= {name: value for name, value in named.items() if value is not None}
    with call.connect() as road:
        _tell(call, road.ask("POST", "/v1/endpoints", data=data))


def _keys() -> list[str]:
    given = os.environ.get("POSTROAD_SECRET")
    if given is None:
        raise BadInput("POSTROAD_SECRET is not set: put the keys there; an empty one ends signing")
    return given.split()


def show(call: Invocation, url: Url) -> None:
    """What is set for a webhook; secrets are counted, not shown."""
    if not url:
        raise BadInput("give the webhook's URL, or list them: `postroad endpoint list`")
    with call.connect() as road:
        _tell(call, road.ask("GET", "/v1/endpoints", {"url": url}))


def list_endpoints(
    call: Invocation,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 100,
    after: Annotated[str, typer.Option(help="The next page.")] = "",
) -> None:
    """The webhooks that something is set for, without their secrets."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/endpoints", {"limit": limit, "after": after})
    if call.json:
        as_json(said)
        return
    rows = [
        (
            one["url"],
            one["secrets"],
            ", ".join(one["headers"]),
            ", ".join(map(str, one["reject"])),
            f"{one['timeout_ms']} ms",
            one["fault"],
        )
        for one in said["endpoints"]
    ]
    columns = ("webhook", "signing keys", "headers", "means never", "timeout", "fault")
    table(columns, rows, "nothing is set for any webhook: `postroad endpoint set`")
    if said["after"]:
        out().print(f"more: --after {shlex.quote(said['after'])}")


def delete(call: Invocation, url: Url) -> None:
    """Forget what is set for a webhook. Its queue stays: what waits is sent without it."""
    with call.connect() as road:
        _ = road.ask("DELETE", "/v1/endpoints", {"url": url})  # a refusal is raised
    if call.json:
        as_json({"deleted": url})
    else:
        out().print(f"deleted: {url}")


def attempts(
    call: Invocation,
    id: Annotated[str, typer.Argument(help="The message's id.")],  # noqa: A002
) -> None:
    """Every try of a message: when, where to, and what came back."""
    with call.connect() as road:
        said = road.ask("GET", f"/v1/messages/{part(id)}/attempts")
    if call.json:
        as_json(said)
        return
    columns = ("try", "started", "outcome", "status", "took", "address", "fault", "answer")
    rows = [
        (
            one["number"],
            when(one["started_at_ms"]),
            one["outcome"],
            one["status"] or "",
            f"{one['took_ms']} ms",
            one["address"],
            one["fault"],
            one["answer"][:40],
        )
        for one in said
    ]
    table(columns, rows, "no try of it is in the log")


def _pair(text: str) -> tuple[str, str]:
    name, mark, value = text.partition("=")
    if not mark:
        raise BadInput(f"--header {text}: give NAME=VALUE")
    return name.strip(), value.strip()


def _tell(call: Invocation, said: dict[str, Any]) -> None:
    if call.json:
        as_json(said)
        return
    names = ", ".join(said["headers"]) or "none"
    rejects = ", ".join(map(str, said["reject"])) or "none"
    out().print(
        f"{said['url']}\nsigning keys: {said['secrets']}\nheaders: {names}\n"
        f"statuses that mean never: {rejects}\n"
        f"timeouts: {said['connect_timeout_ms']} ms to connect, {said['timeout_ms']} ms in all",
    )
