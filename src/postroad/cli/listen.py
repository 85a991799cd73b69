"""`postroad listen`: a webhook receiver on this machine, for tests of good and bad answers."""

from datetime import timedelta
from typing import Annotated, Any, Final

from postroad.cli.command import Invocation, SharedOptions, command
from postroad.cli.options import Argument, Group, Option
from postroad.model.errors import BadInput

SLOW_MAX: Final = timedelta(hours=1)


def add(app: Group) -> None:
    """Add the command."""
    command(app, "listen", panel="Run")(listen)


class Behaviour(SharedOptions, frozen=True):
    """How requests are answered."""

    status: Annotated[int, Option(help="Answer with this status instead of 200.")] = 200
    fail: Annotated[str, Option(help="Fail only this share of requests, as 20%.")] = ""
    slow: Annotated[timedelta, Option(help="Wait this long before the answer, as 2s.")] = (
        timedelta()
    )
    retry_after: Annotated[str, Option(help="A Retry-After header for statuses from 400 on.")] = ""
    reset: Annotated[bool, Option("--reset", help="Reset the connection instead of answering.")] = (
        False
    )


class OwnEndpointOptions(SharedOptions, frozen=True):
    """Whether, and as which, the receiver is an endpoint of the road while it runs."""

    endpoint: Annotated[
        bool, Option("--endpoint", help="Be an endpoint of the road that is named, until it ends.")
    ] = False
    type: Annotated[
        list[str] | None, Option("--type", help="An event type that the endpoint gets.")
    ] = None
    channel: Annotated[list[str] | None, Option(help="A channel of the endpoint.")] = None
    url: Annotated[str, Option(help="Where the road reaches this, if a tunnel leads here.")] = ""


def listen(
    call: Invocation,
    how: Behaviour,
    own: OwnEndpointOptions,
    port: Annotated[
        int, Argument(help="The port; 0 takes any free one.", min=0, max=65_535)
    ] = 8700,
    secret: Annotated[
        list[str] | None,
        Option(help="A key to verify signatures with, whsec_… or whpk_…; may be repeated."),
    ] = None,
) -> None:
    """Receive webhooks on this machine: verify signatures, print requests, and fail as asked."""
    from postroad.cli import receiving  # with the whole of cryptography
    from postroad.cli.receiver import ReceiverOptions

    known = tuple(secret or ())
    receiving.check(known)
    if how.slow > SLOW_MAX:
        raise BadInput(f"--slow: give at most {SLOW_MAX.total_seconds():g} s")
    if not 200 <= how.status <= 599:
        raise BadInput(f"--status {how.status}: give a status from 200 to 599")
    share, slow_s = _share(how.fail), how.slow.total_seconds()
    options = ReceiverOptions(known, how.status, share, slow_s, how.retry_after, how.reset)
    receiving.run(call, port, options, _wanted(own))


def _wanted(own: OwnEndpointOptions) -> dict[str, Any] | None:
    if own.endpoint:
        data = {"types": own.type or (), "channels": own.channel or (), "url": own.url}
        return {**data, "description": "postroad listen"}
    if own.type or own.channel or own.url:
        raise BadInput("--type, --channel and --url are for --endpoint: give that too")
    return None


def _share(text: str) -> float:
    if not text:
        return 0.0
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        raise BadInput(f"--fail {text}: give a share, as in 20%")
    return share
