"""`postroad endpoint stats`, `recover`, `test` and `rules`: how endpoints live."""

from datetime import timedelta
from typing import Annotated, Any

from postroad.cli.command import Commands, Invocation, Listing
from postroad.cli.options import Argument, Option
from postroad.cli.printing import out, when
from postroad.model.wording import duration_text
from postroad.remote.api_request import part

Id = Annotated[str, Argument(help="The endpoint's id: ep_…")]
Since = Annotated[str, Option(help="From this time on, as 2026-01-31T12:00:00Z.")]


def stats(
    call: Listing,
    id: Id,  # noqa: A002
    by: Annotated[str, Option(help="Buckets: `hour` or `day`.")] = "hour",
    since: Since = "",
    until: Annotated[str, Option(help="Before this time.")] = "",
) -> None:
    """Show what an endpoint answered, of the last day unless a time is given."""
    query = {"by": by, "since": since, "until": until}
    given = {name: each for name, each in query.items() if each}
    said = call.ask("GET", f"/v1/endpoints/{part(id)}/stats", given)
    if call.printed(said):
        return
    heads = (by, "tries#", "delivered#", "failures~", "dead#", "p50 ms#", "p99 ms#")
    rows = [_row(when(one["at_ms"]), one) for one in said["points"]]
    call.table(heads, [*rows, _row("total", said["total"])])
    oldest = said["oldest_waiting_ms"]
    waits = f"{said['waiting']} wait" + (
        f", the oldest for {duration_text(oldest)}" if oldest else ""
    )
    out().print(f"{waits}; {said['died']} can be recovered")


def _row(name: str, one: dict[str, Any]) -> tuple[object, ...]:
    tries = one["tries"]
    failures = [f"{kind} {count}" for kind, count in tries.items() if kind != "delivered"]
    times = (one["took_p50_ms"], one["took_p99_ms"])
    done = (sum(tries.values()), tries.get("delivered", 0), ", ".join(failures), one["dead"])
    return (name, *done, *("" if each is None else each for each in times))


def recover(
    call: Invocation,
    id: Id,  # noqa: A002
    since: Since = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Only count them.")] = False,
) -> None:
    """Send again what died while an endpoint failed, or since a time."""
    data = {"dry_run": dry_run} | ({"since": since} if since else {})
    said = call.ask("POST", f"/v1/endpoints/{part(id)}/recover", data=data)
    if call.printed(said):
        return
    verb = "would be" if dry_run else "are"
    by = f" by {said['replay']}" if said["replay"] else ""
    out().print(
        f"{said['messages']} messages {verb} sent again{by}, dead since {when(said['since_ms'])}"
    )


def send_test(
    call: Invocation,
    id: Id,  # noqa: A002
    type: Annotated[  # noqa: A002
        str, Option("--type", help="The event type; else the first that it gets.")
    ] = "",
) -> None:
    """Send a test event to an endpoint alone, marked by the header postroad-test."""
    said = call.ask("POST", f"/v1/endpoints/{part(id)}/test", data={"type": type})
    if call.printed(said):
        return
    out().print(f"a test event {said['type']} is on its way: {said['message']}")


def rules(
    call: Listing,
    notice_after: Annotated[
        timedelta | None, Option(help="Tell of one that has failed for so long, as 1d.")
    ] = None,
    disable_after: Annotated[
        timedelta | None, Option(help="Disable it after so long, as 5d; 0: never.")
    ] = None,
    hold_for: Annotated[
        timedelta | None, Option(help="Hold messages for so long, as 14d; 0: for ever.")
    ] = None,
    hold_max: Annotated[int | None, Option(help="How many messages are held; 0: all.")] = None,
    dead_every: Annotated[
        timedelta | None, Option(help="Tell of dead messages once in so long; 0s: never.")
    ] = None,
    drain: Annotated[str | None, Option(help="How fast they are sent then, as 50/s.")] = None,
    everywhere: Annotated[
        bool, Option("--everywhere", help="For all tenants that have no rules of their own.")
    ] = False,
) -> None:
    """Show the rules of a tenant's endpoints, or set those that are given."""
    times = {
        "notice_after_s": notice_after,
        "disable_after_s": disable_after,
        "hold_for_s": hold_for,
        "dead_every_s": dead_every,
    }
    data: dict[str, Any] = {
        name: each.total_seconds() for name, each in times.items() if each is not None
    }
    data |= {} if hold_max is None else {"hold_max": hold_max}
    data |= {} if drain is None else {"drain": drain}
    if data:
        data["everywhere"] = everywhere
        said = call.ask("PUT", "/v1/endpoint-rules", data=data)
    else:
        said = call.ask("GET", "/v1/endpoint-rules")
    if call.printed(said):
        return
    call.facts(
        [
            ("notice after", duration_text(round(said["notice_after_s"] * 1000))),
            ("disable after", _span(said["disable_after_s"], "never")),
            ("hold for", _span(said["hold_for_s"], "ever")),
            ("hold max", said["hold_max"] or "all"),
            ("dead every", _span(said["dead_every_s"], "never")),
            ("drain", said["drain"] or "at once"),
        ]
    )


def _span(seconds: float, without: str) -> str:
    """A time of a rule; 0 is none."""
    return duration_text(round(seconds * 1000)) if seconds else without


LIFE: Commands = {"stats": stats, "recover": recover, "test": send_test, "rules": rules}
