"""The verbs of jobs as requests."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from postroad.remote.calls import Args, VerbCall, Verbs, ask, inherited
from postroad.remote.client import RemoteClient
from postroad.verbs.ending import wait_s
from postroad.verbs.jobs import JobEnd

T = TypeVar("T")
WAIT_S: Final = 20.0
"""How long one request waits; then the next one is made."""


async def ask_until(
    client: RemoteClient,
    call: VerbCall,
    args: Args,
    within: Any,
    kind: type[T],
    over: Callable[[T], bool],
) -> T:
    """Ask again and again until something is over, for at most as long as `within` says."""
    until_s = client.clock.steady_s() + wait_s(within)
    while True:
        left_s = max(0.0, until_s - client.clock.steady_s())
        found: T = await ask(client, call, {**args, "wait_s": min(left_s, WAIT_S)}, kind)
        if over(found) or left_s <= WAIT_S:
            return found


async def _wait(client: RemoteClient, args: Args) -> JobEnd:
    call = VerbCall("GET", "/v1/messages/{id}/result", again=True)
    within = args.pop("timeout")
    return await ask_until(client, call, args, within, JobEnd, lambda found: found.ended)


JOBS: Final[Verbs] = {"wait": _wait, "result": inherited, "running": VerbCall("GET", "/v1/jobs")}
