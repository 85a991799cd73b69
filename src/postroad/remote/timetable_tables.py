"""Which request each verb about timetables is."""

from base64 import b64decode, b64encode
from typing import Final

from msgspec import Raw
from msgspec.structs import replace

from postroad.model.durations import seconds_of
from postroad.remote.calls import Args, Custom, VerbCall, Verbs, ask
from postroad.remote.client import RemoteClient
from postroad.verbs.timetable_facts import Timetable
from postroad.verbs.timetables import timetable_body


def _shown(method: str, path: str, *, again: bool) -> Custom:
    """A request that is answered with the timetable."""

    async def verb(client: RemoteClient, args: Args) -> Timetable:
        shaped = _shaped(args)
        call = VerbCall(method, path, again=again, shape=lambda _: shaped)
        said: Timetable = await ask(client, call, {"tenant": args["tenant"]}, Timetable)
        if said.body_base64 is None:
            return said
        return replace(said, body=b64decode(said.body_base64), body_base64=None)

    return verb


def _shaped(args: Args) -> Args:
    """The parameters of the request; a body that is None is one, too."""
    given = {name: value for name, value in args.items() if name != "tenant"}
    if isinstance(given.get("body"), bytes):
        given["body_base64"] = b64encode(timetable_body(given.pop("body"))).decode()
    elif "body" in given:
        given["body"] = Raw(timetable_body(given["body"]))
    if "every" in given:
        given["every_s"] = seconds_of(given.pop("every"))
    return given


TIMETABLES: Final[Verbs] = {
    "create": _shown("POST", "/v1/timetables", again=False),
    "list": VerbCall("GET", "/v1/timetables"),
    "show": _shown("GET", "/v1/timetables/{name}", again=True),
    "change": _shown("PATCH", "/v1/timetables/{name}", again=True),
    "pause": _shown("POST", "/v1/timetables/{name}/pause", again=True),
    "resume": _shown("POST", "/v1/timetables/{name}/resume", again=True),
    "run_now": VerbCall("POST", "/v1/timetables/{name}/run"),
    "delete": VerbCall("DELETE", "/v1/timetables/{name}"),
}
