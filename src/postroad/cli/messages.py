"""`postroad send`, and what can be asked of one message."""

import sys
from typing import Annotated, Any

import msgspec
import typer

from postroad.api.inside import part
from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, err, facts, out, styled, table, when
from postroad.cli.progress import show_progress
from postroad.model.errors import BadBody, BadInput

Id = Annotated[str, typer.Argument(help="As in the receipt: msg_…")]


def add(app: typer.Typer) -> None:
    """These commands."""
    command(app, "send", rich_help_panel="Messages")(send)
    group = typer.Typer(no_args_is_help=True, help="One message: where it is, why, and cancel it.")
    app.add_typer(group, name="message", rich_help_panel="Messages")
    command(group, "show")(show)
    command(group, "explain")(explain)
    command(group, "cancel")(cancel)
    command(group, "settle")(settle)
    command(app, "cancel-all", rich_help_panel="Messages")(cancel_all)


def send(
    call: Invocation,
    queue: Annotated[str, typer.Argument(help="A handler's name, or an address.")],
    body: Annotated[str, typer.Argument(help="JSON; - reads it from standard input.")] = "-",
    text: Annotated[bool, typer.Option("--text", help="The body is text, not JSON.")] = False,
    key: Annotated[str, typer.Option(help="Sent once a day under this key.")] = "",
    order_key: Annotated[str, typer.Option(help="In order with others of this key.")] = "",
    delay: Annotated[float, typer.Option(help="Seconds from now.")] = 0.0,
    more: Annotated[
        list[str] | None,
        typer.Option("--with", help="NAME=VALUE: priority, deliver_at, expires_at, header.X"),
    ] = None,
) -> None:
    """Send a message: it is stored when this returns."""
    data: dict[str, Any] = {"queue": queue, "body": _body(body, text=text)}
    data |= {"key": key, "order_key": order_key, "delay": delay} | _more(more or ())
    with call.connect() as road:
        receipt = road.ask("POST", "/v1/messages", data=data)
    if call.json:
        as_json(receipt)
        return
    word = "was stored before, under the same key" if receipt["duplicate"] else "is stored"
    out().print(styled((receipt["id"], "bold"), f" {word}"), soft_wrap=True)


def _body(given: str, *, text: bool) -> str | msgspec.Raw:
    if given == "-" and sys.stdin.isatty():
        err().print("the body, then Ctrl+D:")
    try:
        body = sys.stdin.buffer.read() if given == "-" else given.encode()
        words = body.decode()
    except UnicodeError:
        raise BadBody(
            "the body is not UTF-8: `postroad batch` takes bytes, as body_base64"
        ) from None
    if text:
        return words
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadBody(
            f"the body is not JSON ({error}): quote it, as in '{{\"id\": 7}}', or use --text"
        ) from None
    return msgspec.Raw(body)


def _more(pairs: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark:
            raise BadInput(f"--with {pair}: give NAME=VALUE")
        if name.startswith("header."):
            found.setdefault("headers", {})[name.removeprefix("header.")] = value
        elif name == "priority":
            try:
                found[name] = int(value)
            except ValueError:
                raise BadInput(f"--with {pair}: a priority is a number from -9 to 9") from None
        elif name in ("deliver_at", "expires_at"):
            found[name] = value
        else:
            raise BadInput(f"--with {pair}: give priority, deliver_at, expires_at or header.NAME")
    return found


def show(call: Invocation, id: Id) -> None:  # noqa: A002 - the word that receipts use
    """Where a message is, and what was tried."""
    with call.connect() as road:
        said = road.ask("GET", f"/v1/messages/{part(id)}")
    if call.json:
        as_json(said)
        return
    state = f"{said['state']} ({said['reason']})" if said["reason"] else said["state"]
    facts(
        [
            ("id", said["id"]),
            ("queue", said["queue"]),
            ("state", state),
            ("level", f"{said['level']} of {said['retries']}"),
            ("accepted", when(said["accepted_at_ms"])),
            ("finished", when(said["finished_at_ms"])),
            ("expires", when(said["expires_at_ms"])),
        ]
    )
    show_tries(said["tries"])


def show_tries(tries: list[dict[str, Any]]) -> None:
    """All tries of a message."""
    if tries:
        columns = ("try#", "at", "level#", "outcome", "status#", "took ms#", "error")
        names = ("number", "started_at_ms", "level", "outcome", "status", "took_ms", "error")
        rows = [
            [when(each[name]) if name == "started_at_ms" else each.get(name, "") for name in names]
            for each in tries
        ]
        table(columns, rows)


def explain(call: Invocation, id: Id) -> None:  # noqa: A002
    """Why does it not arrive? What happened, what holds it back, what comes next."""
    with call.connect() as road:
        said = road.ask("GET", f"/v1/messages/{part(id)}/explain")
    if call.json:
        as_json(said)
        return
    out().print(said["sentence"], soft_wrap=True)
    show_tries(said["tries"])


def cancel(
    call: Invocation,
    id: Id,  # noqa: A002
    wait: Annotated[float, typer.Option(help="Seconds to wait for the lane's owner.")] = 10.0,
) -> None:
    """Cancel a message: after `cancelled` no try of it starts."""
    with call.connect() as road:
        said = road.ask("DELETE", f"/v1/messages/{part(id)}", {"wait_s": wait})
    if call.json:
        as_json(said)
    else:
        out().print(f"{said['id']}: {said['state']}")
    if said["state"] == "pending":
        raise typer.Exit(1)


def settle(
    call: Invocation,
    id: Id,  # noqa: A002
    outcome: Annotated[str, typer.Argument(help="sent, or unsent")],
) -> None:
    """Say what became of an uncertain message: `sent` is delivered, `unsent` is tried again."""
    with call.connect() as road:
        said = road.ask("POST", f"/v1/messages/{part(id)}/settle", data={"outcome": outcome})
    if call.json:
        as_json(said)
    else:
        out().print(f"{said['id']}: {said['state']}")


def cancel_all(
    call: Invocation,
    queue: Annotated[str, typer.Argument(help="Of this queue.")] = "",
    order_key: Annotated[str, typer.Option(help="Of this order key.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Cancel all messages of a queue, or of an order key, that are there now and not finished."""
    if not queue and not order_key:
        raise BadInput("say which: a queue, or --order-key")
    if not yes and not _sure(queue or order_key):
        raise BadInput("nothing was cancelled: give --yes, or answer the question")
    data = {"queue": queue, "order_key": order_key}
    with call.connect() as road, show_progress("cancelling") as told:
        path = "/v1/messages:cancel"
        said = road.follow(path, data, lambda said: told(sum(said.values())))
    if call.json:
        as_json(said)
    else:
        words = [f"{count} {state}" for state, count in said.items() if count]
        out().print(", ".join(words) or "nothing to cancel")


def _sure(name: str) -> bool:
    try:
        return typer.confirm(f"Cancel everything of {name}?", err=True)
    except typer.Abort:
        return False
