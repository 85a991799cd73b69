"""`postroad timetable`: what is sent at set times."""

from datetime import timedelta
from typing import Annotated, Any

import msgspec

from postroad.cli.bodies import BodyFlags
from postroad.cli.command import After, Invocation, Limit, Listing, SharedOptions, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import when
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

SHORTEST, LONGEST = timedelta(seconds=1), timedelta(days=366)
Name = Annotated[str, Argument(help="The timetable's name.")]


class TimeFlags(SharedOptions, frozen=True):
    """When a timetable comes."""

    cron: Annotated[
        str, Option(help="Minute, hour, day of month, month, day of week, as '0 9 * * *'.")
    ] = ""
    every: Annotated[timedelta | None, Option(help="Or so often, as 90s or 6h.")] = None
    zone: Annotated[
        str, Option(help="The time zone of the cron line, as Europe/Berlin; UTC if not given.")
    ] = ""
    missed: Annotated[
        str, Option(help="Times at which no process ran: latest, all or skip; latest if not given.")
    ] = ""

    def given(self) -> dict[str, Any]:
        """What was given of it."""
        texts = {"cron": self.cron, "zone": self.zone, "missed": self.missed}
        return {name: text for name, text in texts.items() if text} | self._often()

    def _often(self) -> dict[str, float]:
        if self.every is None:
            return {}
        if not SHORTEST <= self.every <= LONGEST:
            raise BadInput("--every: give one second to a year, as 90s or 6h")
        return {"every_s": self.every.total_seconds()}


def add(app: Group) -> None:
    """Add the commands for timetables."""
    commands: dict[str, Any] = {"create": create, "list": list_timetables, "show": show}
    commands |= {"change": change, "pause": pause, "resume": resume, "run": run, "delete": delete}
    text = "Timetables: what is sent at set times, each time once in the whole fleet."
    add_group(app, "timetable", "Messages", text, commands)


def create(
    call: Listing,
    name: Name,
    queue: Annotated[str, Argument(help="A handler's name or an address: https://…")],
    body: Annotated[
        str, Argument(help="The body as JSON; - reads it from standard input.", empty=True)
    ] = "-",
    *,
    kind: BodyFlags,
    times: TimeFlags,
    paused: Annotated[bool, Option("--paused", help="It sends nothing before a resume.")] = False,
) -> None:
    """Make a timetable: from now on the body is sent at these times."""
    data = {"name": name, "queue": queue, "paused": paused, **kind.read(body)}
    _show(call, call.ask("POST", "/v1/timetables", data=data | times.given()))


def list_timetables(call: Listing, limit: Limit = 100, after: After = "") -> None:
    """List timetables by name, also those that programs declare."""
    call.listed(
        "/v1/timetables",
        ("timetable", "when~", "queue~", "next", "origin"),
        lambda one: (one["name"], one["when"], one["queue"], _next(one), one["origin"]),
        "there are no timetables",
        limit=limit,
        after=after,
    )


def show(call: Listing, name: Name) -> None:
    """Show a timetable with its next times, and what it sends."""
    _show(call, call.ask("GET", f"/v1/timetables/{part(name)}"))


def change(
    call: Listing,
    name: Name,
    *,
    kind: BodyFlags,
    times: TimeFlags,
    queue: Annotated[str, Option(help="Send to this queue from now on.")] = "",
    body: Annotated[str, Option(help="Send this body, JSON; - reads it from standard input.")] = "",
) -> None:
    """Change a timetable; what is not given stays."""
    data = times.given() | ({"queue": queue} if queue else {})
    if body:
        data |= kind.read(body)
    _show(call, call.ask("PATCH", f"/v1/timetables/{part(name)}", data=data))


def pause(call: Listing, name: Name) -> None:
    """Let a timetable send nothing until it is resumed."""
    _show(call, call.ask("POST", f"/v1/timetables/{part(name)}/pause"))


def resume(call: Listing, name: Name) -> None:
    """Let a paused timetable go on, from now."""
    _show(call, call.ask("POST", f"/v1/timetables/{part(name)}/resume"))


def run(call: Invocation, name: Name) -> None:
    """Send what a timetable sends, now and once."""
    said = call.ask("POST", f"/v1/timetables/{part(name)}/run")
    call.reply(said, f"{said['id']} is stored")


def delete(call: Invocation, name: Name) -> None:
    """Delete a timetable; what it has sent stays."""
    call.delete(f"/v1/timetables/{part(name)}", name)


def _next(said: dict[str, Any]) -> str:
    return "paused" if said["paused"] else when(said["next_at_ms"])


def _show(call: Listing, said: dict[str, Any]) -> None:
    if call.printed(said):
        return
    facts: list[tuple[str, object]] = [("timetable", said["name"]), ("when", said["when"])]
    facts += [("cron", said["cron"])] if said["cron"] else []
    facts += [("queue", said["queue"]), ("missed", said["missed"]), ("origin", said["origin"])]
    facts += [("next", "paused" if said["paused"] else ", ".join(map(when, said["next_ms"])))]
    facts += [("bytes", said["body_base64"])] if said["body_base64"] is not None else _body(said)
    call.facts([*facts, ("error", said["error"])] if said["error"] else facts)


def _body(said: dict[str, Any]) -> list[tuple[str, object]]:
    return [("body", said["hidden"] or msgspec.json.encode(said["body"]).decode())]
