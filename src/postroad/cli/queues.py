"""`postroad queues`, `lanes`, `levels`, `explain`, `pause`, `resume` and `unblock`."""

from collections.abc import Callable
from typing import Annotated, Any

from postroad.cli.command import After, Invocation, Limit, Listing, command
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import ago, err
from postroad.model.errors import BadInput
from postroad.model.wording import duration_text

Queue = Annotated[str, Argument(help="The queue's name.")]
Trouble = Annotated[
    bool, Option("--trouble", help="Only those that are blocked, paused, held or out of reach.")
]
LaneNumber = Annotated[int, Option("--lane", help="A lane instead of a queue, by its number.")]


def add(app: Group) -> None:
    """Add the commands for queues, lanes and retry levels."""
    command(app, "queues", panel="Queues and lanes")(queues)
    command(app, "lanes", panel="Queues and lanes")(lanes)
    command(app, "levels", panel="Queues and lanes")(levels)
    command(app, "explain", panel="Queues and lanes")(explain)
    for verb, done, text in (
        ("pause", "paused", "Pause a queue or a lane: new messages are accepted, none is sent."),
        ("resume", "resumed", "Resume a paused queue or lane."),
        (
            "unblock",
            "unblocked",
            "Lift a block now: of a queue, whatever its kind, or an open circuit.",
        ),
    ):
        command(app, verb, panel="Queues and lanes", help=text)(_changing(verb, done))


def queues(
    call: Listing, limit: Limit = 100, after: After = "", *, trouble: Trouble = False
) -> None:
    """List queues by name: how many messages wait, and what holds them back."""
    columns = ("queue~~", "waiting#", "held#", "dead#", "because~")
    call.listed(
        "/v1/queues",
        columns,
        lambda row: (row["queue"], row["waiting"], row["held"], row["dead"], row["because"]),
        "no queues yet: a handler, or the first send to an address, makes one",
        limit=limit,
        after=after,
        **_only(trouble=trouble),
    )


def lanes(
    call: Listing, limit: Limit = 100, after: After = "", *, trouble: Trouble = False
) -> None:
    """List lanes by number: where they send to, which process serves them, and what waits."""
    columns = (
        "lane#", "to~~", "shard#", "queues#", "waiting#", "held#", "in flight#",
        "served by~", "because~",
    )  # fmt: skip
    call.listed(
        "/v1/lanes",
        columns,
        lambda row: (
            row["id"],
            f"{row['transport']} {row['server']}",
            row["shard"],
            row["queues"],
            row["waiting"],
            row["held"],
            "{in_flight} of {size}".format_map(row["window"]) if row["window"] else "–",
            f"process {row['owner']['pid']} on {row['owner']['host']}" if row["owner"] else "–",
            row["because"],
        ),
        "no lanes yet: the first queue makes one",
        limit=limit,
        after=after,
        **_only(trouble=trouble),
    )


def _only(*, trouble: bool) -> dict[str, str]:
    return {"trouble": "true"} if trouble else {}


def levels(call: Listing) -> None:
    """Show the retry levels: what waits at each, and how many queries polling it takes."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/levels")
        now_ms = road.ask("GET", "/v1/stats")["now_ms"]
    if call.printed(said):
        return
    columns = (
        "level#", "delay#", "polled every#", "polls/h#", "asked so far#",
        "waiting#", "held#", "oldest due#",
    )  # fmt: skip
    rows = [
        (
            row["level"],
            duration_text(int(row["delay_s"] * 1000)) if row["delay_s"] else "at once",
            duration_text(int(row["poll_interval_s"] * 1000)),
            row["queries_per_hour_polling"],
            row["queries"],
            row["waiting"],
            row["held"],
            ago(row["oldest_due_ms"], now_ms),
        )
        for row in said
    ]
    call.table(columns, rows)
    total = sum(row["queries_per_hour_polling"] for row in said)
    err().print(f"{total} queries/h while notifications are down; else one poll serves all levels.")


def explain(call: Invocation, queue: Queue = "", lane: LaneNumber = 0) -> None:
    """Explain why a queue or a lane waits: what holds it back, and what comes next."""
    kind, which = meant(queue, lane)
    said = call.ask("GET", f"/v1/{kind}s:explain", {kind: which})
    call.reply(said, "\n".join([said["sentence"], *holds(said)]))


def holds(said: dict[str, Any]) -> list[str]:
    """What holds it back, with the reasons that its sentence leaves out."""
    return [f"{one['scope']}: {one['reason']}" for one in said["blocks"] if one["reason"]]


def meant(queue: str, lane: int) -> tuple[str, str | int]:
    """Tell whether a queue or a lane is meant, and which."""
    if bool(queue) == bool(lane):
        raise BadInput("say which: a queue's name, or --lane NUMBER")
    return ("queue", queue) if queue else ("lane", lane)


def _changing(verb: str, done: str) -> Callable[..., None]:
    def change(call: Invocation, queue: Queue = "", lane: LaneNumber = 0) -> None:
        kind, which = meant(queue, lane)
        said = call.ask("POST", f"/v1/{kind}s:{verb}", data={kind: which})
        call.reply(said, f"{done}: {kind} {which}")

    change.__name__ = verb
    return change
