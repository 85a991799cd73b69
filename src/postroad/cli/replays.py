"""`postroad replay`: jobs that send again."""

from typing import Annotated, Any

from msgspec import structs

from postroad.cli.command import After, Invocation, Limit, Listing, SharedOptions, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import when
from postroad.remote.api_request import part

Id = Annotated[str, Argument(help="The replay's id: rpl_…")]
NAMES = ("what", "endpoint", "queue", "reason", "error", "mode", "rate")


class ReplayChoice(SharedOptions, frozen=True):
    """What a replay sends, and how fast."""

    what: Annotated[
        str, Option(help="failed: what is dead; all: every event; missed: events never sent.")
    ] = "failed"
    endpoint: Annotated[str, Option(help="Only to this endpoint: ep_…")] = ""
    queue: Annotated[str, Option(help="Only what failed of this queue.")] = ""
    reason: Annotated[str, Option(help="Only what died of this reason.")] = ""
    error: Annotated[str, Option(help="Only with this text in the error.")] = ""
    since: Annotated[
        str, Option(help="What died, or was published, then or later, as 2026-01-31T12:00:00Z.")
    ] = ""
    until: Annotated[str, Option(help="And before this time.")] = ""
    rate: Annotated[str, Option(help="How many are sent again, as 50/s; 100/s if not given.")] = ""
    mode: Annotated[
        str, Option(help="Of dead messages: reset for the whole ladder, once for one more try.")
    ] = ""


def add(app: Group) -> None:
    """Add the commands for replays."""
    commands: dict[str, Any] = {"start": start, "list": list_replays, "show": show}
    commands |= {"pause": pause, "resume": resume, "cancel": cancel}
    text = "Replays: jobs that send again what failed or what an endpoint missed."
    add_group(app, "replay", "Events", text, commands)


def start(
    call: Invocation,
    which: ReplayChoice,
    dry_run: Annotated[bool, Option("--dry-run", help="Only count them.")] = False,
) -> None:
    """Start a replay: a job that sends again, and is counted first."""
    given = {name: value for name, value in structs.asdict(which).items() if value}
    said = call.ask("POST", "/v1/replays", data={**given, "dry_run": dry_run})
    word = "would be sent again" if dry_run else "are sent again"
    name = "" if dry_run else f"{said['id']}: "
    call.reply(said, f"{name}{said['total']} messages {word}")


def list_replays(call: Listing, limit: Limit = 100, after: After = "") -> None:
    """List replays, the newest first."""
    call.listed(
        "/v1/replays",
        ("replay", "what", "queue~~", "state", "sent"),
        lambda one: (one["id"], one["what"], one["queue"] or "all", one["state"], _progress(one)),
        "there are no replays",
        limit=limit,
        after=after,
    )


def show(call: Listing, id: Id) -> None:  # noqa: A002
    """Show how far a replay is."""
    _show(call, call.ask("GET", f"/v1/replays/{part(id)}"))


def pause(call: Listing, id: Id) -> None:  # noqa: A002
    """Let a replay send nothing more until it is resumed."""
    _show(call, call.ask("POST", f"/v1/replays/{part(id)}/pause"))


def resume(call: Listing, id: Id) -> None:  # noqa: A002
    """Let a paused replay go on where it was."""
    _show(call, call.ask("POST", f"/v1/replays/{part(id)}/resume"))


def cancel(call: Listing, id: Id) -> None:  # noqa: A002
    """End a replay; what it has sent again stays."""
    _show(call, call.ask("POST", f"/v1/replays/{part(id)}/cancel"))


def _show(call: Listing, said: dict[str, Any]) -> None:
    if call.printed(said):
        return
    ended = said["ended_at_ms"]
    facts: list[tuple[str, object]] = [("replay", said["id"]), ("state", said["state"])]
    facts += [("because", said["stopped_because"])] if said["stopped_because"] else []
    facts += [(name, said[name]) for name in NAMES if said[name]]
    facts += [("sent again", _progress(said)), ("left, still waiting", said["waiting"])]
    facts += [("asked for", when(said["asked_at_ms"]))]
    call.facts([*facts, ("ended", when(ended))] if ended else facts)


def _progress(said: dict[str, Any]) -> str:
    return f"{said['replayed']} of {said['total']}"
