"""`postroad webhook`: how webhooks are called."""

import os
from datetime import timedelta
from typing import Annotated, Any

from msgspec import structs

from postroad.cli.access import AccessSettings, access_data, access_rows
from postroad.cli.command import (
    After,
    Commands,
    Invocation,
    Limit,
    Listing,
    MessageId,
    SharedOptions,
    add_group,
    named_value,
)
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import status_text, when
from postroad.model.errors import BadInput
from postroad.model.wording import duration_text
from postroad.remote.api_request import part

Url = Annotated[str, Argument(help="The webhook's URL.")]


def add(app: Group) -> None:
    """Add the commands for webhooks."""
    commands: Commands = {"set": set_webhook, "show": show, "list": list_webhooks}
    commands |= {"delete": delete, "attempts": attempts}
    text = "Webhooks: signing keys, headers and timeouts, and the log of tries."
    add_group(app, "webhook", "Look after it", text, commands)


class WebhookTimes(SharedOptions, frozen=True):
    """How long a webhook's tries may take, and its bodies are kept."""

    timeout: Annotated[timedelta | None, Option(help="How long a whole try may take, as 15s.")] = (
        None
    )
    connect_timeout: Annotated[
        timedelta | None, Option(help="How long connecting may take, as 5s.")
    ] = None
    keep_bodies: Annotated[
        timedelta | None,
        Option(help="How long bodies are kept after delivery, as 7d; 0s: as the road says."),
    ] = None


def set_webhook(
    call: Listing,
    url: Url,
    times: WebhookTimes,
    access: AccessSettings,
    sign: Annotated[
        bool,
        Option(
            "--sign", help="Sign with the keys in POSTROAD_SECRET, which are separated by spaces."
        ),
    ] = False,
    header: Annotated[
        list[str] | None, Option(help="NAME=VALUE to send with every request; stored encrypted.")
    ] = None,
    reject: Annotated[
        list[int] | None,
        Option(help="A status after which a message is never tried again; may be repeated."),
    ] = None,
) -> None:
    """Set how a webhook is called; its queue is made if it is new. Options that are not given keep
    their values."""
    data: dict[str, Any] = {"url": url, **access_data(access)}
    if sign:
        data["secrets"] = _keys()
    if header:
        data["headers"] = dict(named_value("--header", each) for each in header)
    if reject is not None:
        data["reject"] = reject
    spans: dict[str, timedelta | None] = structs.asdict(times)
    data |= {name: span.total_seconds() for name, span in spans.items() if span is not None}
    _tell(call, call.ask("PUT", "/v1/webhooks", data=data))


def _keys() -> list[str]:
    given = os.environ.get("POSTROAD_SECRET")
    if given is None:
        raise BadInput(
            "POSTROAD_SECRET is not set: put the keys there; if it is empty, signing ends"
        )
    return given.split()


def show(call: Listing, url: Url) -> None:
    """Show what is set for a webhook; of secrets only how many there are."""
    if not url:
        raise BadInput("give the webhook's URL, or list them: `postroad webhook list`")
    _tell(call, call.ask("GET", "/v1/webhooks", {"url": url}))


def list_webhooks(
    call: Listing,
    limit: Limit = 100,
    after: After = "",
) -> None:
    """List the webhooks that something is set for, without their secrets."""
    columns = ("webhook~~", "signing keys#", "headers~", "rejected by~", "timeout#", "fault~")
    call.listed(
        "/v1/webhooks",
        columns,
        lambda one: (
            one["url"],
            one["secrets"],
            ", ".join(one["headers"]),
            ", ".join(map(str, one["reject"])),
            f"{one['timeout_ms']} ms",
            one["fault"],
        ),
        "nothing is set for any webhook: `postroad webhook set`",
        limit=limit,
        after=after,
    )


def delete(call: Invocation, url: Url) -> None:
    """Delete what is set for a webhook. Its queue stays: what waits there is still sent."""
    call.delete("/v1/webhooks", url, {"url": url})


def attempts(call: Listing, id: MessageId) -> None:  # noqa: A002
    """List every try of a message: when, to which address, and what the server answered."""
    columns = ("try#", "started", "outcome", "status#", "took#", "address", "fault~", "answer~")
    columns = ("try#", "started", "outcome", "status#", "took#", "address", "fault~", "answer~")
    call.listed(
        f"/v1/messages/{part(id)}/attempts",
        columns,
        lambda one: (
            one["number"],
            when(one["started_at_ms"]),
            one["outcome"],
            status_text(one["status"]),
            f"{one['took_ms']} ms",
            one["address"],
            one["fault"],
            one["answer"][:40],
        ),
        "no try of it is in the log",
    )


def _ladder(ladder: dict[str, Any]) -> str:
    """A retry ladder in words."""
    if ladder["type"] == "exponential":
        base, cap = (duration_text(ladder[name]) for name in ("base_ms", "cap_ms"))
        return f"{ladder['retries']} retries: {base}, then twice as long each time, at most {cap}"
    return f"{ladder['retries']} retries: {', '.join(map(duration_text, ladder['delays_ms']))}"


def _tell(call: Listing, said: dict[str, Any]) -> None:
    if call.printed(said):
        return
    kept = duration_text(said["keep_bodies_ms"]) if said["keep_bodies_ms"] else "as the road says"
    call.facts(
        [
            ("webhook", said["url"]),
            ("signing keys", said["secrets"]),
            ("headers", ", ".join(said["headers"]) or "none"),
            ("rejected by", ", ".join(map(str, said["reject"])) or "none"),
            ("to connect", f"{said['connect_timeout_ms']} ms"),
            ("in all", f"{said['timeout_ms']} ms"),
            ("ladder", _ladder(said["ladder"])),
            ("bodies kept", kept),
            *access_rows(said),
        ]
    )
