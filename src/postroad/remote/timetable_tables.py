"""Which request each verb about timetables is."""

from typing import Final

from msgspec import Raw

from postroad.model.bodies import encode_body
from postroad.model.durations import seconds_of
from postroad.remote.calls import Args, VerbCall, Verbs, ask
from postroad.remote.client import RemoteClient
from postroad.verbs.timetables import Timetable


async def _create(client: RemoteClient, args: Args) -> Timetable:
    shaped = _shaped(args)
    call = VerbCall("POST", "/v1/timetables", shape=lambda _: shaped)
    made: Timetable = await ask(client, call, {"tenant": args["tenant"]}, Timetable)
    return made


async def _change(client: RemoteClient, args: Args) -> Timetable:
    shaped = _shaped(args)
    call = VerbCall("PATCH", "/v1/timetables/{name}", again=True, shape=lambda _: shaped)
    changed: Timetable = await ask(client, call, {"tenant": args["tenant"]}, Timetable)
    return changed


def _shaped(args: Args) -> Args:
    """The parameters of the request; a body that is None is one, too."""
    given = {name: value for name, value in args.items() if name != "tenant"}
    if "body" in given:
        given["body"] = Raw(encode_body(given["body"]))
    if "every" in given:
        given["every_s"] = seconds_of(given.pop("every"))
    return given


TIMETABLES: Final[Verbs] = {
    "create": _create,
    "list": VerbCall("GET", "/v1/timetables"),
    "show": VerbCall("GET", "/v1/timetables/{name}"),
    "change": _change,
    "pause": VerbCall("POST", "/v1/timetables/{name}/pause", again=True),
    "resume": VerbCall("POST", "/v1/timetables/{name}/resume", again=True),
    "run_now": VerbCall("POST", "/v1/timetables/{name}/run"),
    "delete": VerbCall("DELETE", "/v1/timetables/{name}"),
}
