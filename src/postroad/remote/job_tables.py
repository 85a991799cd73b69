"""The verbs of jobs as requests."""

from typing import Final

from postroad.remote.calls import Args, VerbCall, Verbs, ask, inherited
from postroad.remote.client import RemoteClient
from postroad.verbs.ending import wait_s
from postroad.verbs.jobs import JobEnd

WAIT_S: Final = 20.0
"""How long one request waits; then the next one is made."""


async def _wait(client: RemoteClient, args: Args) -> JobEnd:
    until_s = client.clock.steady_s() + wait_s(args["timeout"])
    call = VerbCall("GET", "/v1/messages/{id}/result", again=True)
    while True:
        left_s = max(0.0, until_s - client.clock.steady_s())
        asked = {"id": args["id"], "tenant": args["tenant"], "wait_s": min(left_s, WAIT_S)}
        found: JobEnd = await ask(client, call, asked, JobEnd)
        if found.ended or left_s <= WAIT_S:
            return found


JOBS: Final[Verbs] = {"wait": _wait, "result": inherited, "running": VerbCall("GET", "/v1/jobs")}
