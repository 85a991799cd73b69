"""Queues, lanes and retry levels: look, pause, resume, unblock, limit."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from postroad.cli.command import Invocation, command
from postroad.cli.printing import ago, as_json, out, table
from postroad.model.errors import BadInput
from postroad.model.sentences import span

Limit = Annotated[int, typer.Option(help="How many at most.")]
After = Annotated[str, typer.Option(help="From behind this one on.")]
Queue = Annotated[str, typer.Argument(help="The queue's name.")]
Rate = Annotated[str, typer.Argument(help="50/s; several with commas; or none.")]
Cost = Annotated[int, typer.Option(help="What each try counts as.")]
LaneNumber = Annotated[int, typer.Option("--lane", help="A whole lane, by its number.")]


def add(app: typer.Typer) -> None:
    """These commands."""
    command(app, "queues", rich_help_panel="Queues and lanes")(queues)
    command(app, "lanes", rich_help_panel="Queues and lanes")(lanes)
    command(app, "levels", rich_help_panel="Queues and lanes")(levels)
    command(app, "explain", rich_help_panel="Queues and lanes")(explain)
    command(app, "limit", rich_help_panel="Queues and lanes")(limit)
    for verb, done, text in (
        ("pause", "paused", "Hold a queue, or a lane: new messages are accepted, none is sent."),
        ("resume", "resumed", "Let a paused queue, or lane, go on."),
        ("unblock", "unblocked", "Lift a hold-off now: quota, unreachable, disabled, a circuit."),
    ):
        command(app, verb, rich_help_panel="Queues and lanes", help=text)(_changing(verb, done))


def queues(call: Invocation, limit: Limit = 100, after: After = "") -> None:
    """Queues by name, with what waits in each and what holds it back."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/queues", {"limit": limit, "after": after})
    if call.json:
        as_json(said)
        return
    columns = ("queue", "waiting#", "held#", "blocked#", "dead#", "because")
    rows = [
        (row["queue"], row["waiting"], row["held"], row["blocked"], row["dead"], _because(row))
        for row in said["queues"]
    ]
    table(columns, rows, "no queues yet: a handler, or the first send to an address, makes one")
    _more(said["after"])


def _because(row: dict[str, Any]) -> str:
    words = ["paused"] * row["paused"]
    if row["block"]:
        words.append(f"{row['block']}: {row['block_reason']}")
    return "; ".join(words)


def _more(after: str) -> None:
    if after:
        out().print(f"more: --after '{after}'")


def lanes(call: Invocation, limit: Limit = 100, after: After = "") -> None:
    """Lanes by number: where they go, who serves them, and what waits."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/lanes", {"limit": limit, "after": after})
    if call.json:
        as_json(said)
        return
    columns = ("lane#", "to", "shard#", "queues#", "waiting#", "held#", "blocked#", "served by", "")
    rows = [
        (
            row["id"],
            f"{row['transport']} {row['server']}",
            row["shard"],
            row["queues"],
            row["waiting"],
            row["held"],
            row["blocked"],
            f"process {row['owner']['pid']} on {row['owner']['host']}" if row["owner"] else "–",
            "paused" if row["paused"] else row["circuit"]["reason"],
        )
        for row in said["lanes"]
    ]
    table(columns, rows, "no lanes yet: the first queue makes one")
    _more(said["after"])


def levels(call: Invocation) -> None:
    """The retry-level table: what waits at each level, and what asking for it costs."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/levels")
        now_ms = road.ask("GET", "/v1/stats")["now_ms"]
    if call.json:
        as_json(said)
        return
    columns = (
        "level#", "delay#", "polled every#", "polls/h#", "asked so far#",
        "waiting#", "held#", "blocked#", "oldest due#",
    )  # fmt: skip
    rows = [
        (
            row["level"],
            span(int(row["delay_s"] * 1000)) if row["delay_s"] else "at once",
            span(int(row["poll_interval_s"] * 1000)),
            row["queries_per_hour_polling"],
            row["queries"],
            row["waiting"],
            row["held"],
            row["blocked"],
            ago(row["oldest_due_ms"], now_ms),
        )
        for row in said
    ]
    table(columns, rows)
    total = sum(row["queries_per_hour_polling"] for row in said)
    out().print(f"{total} queries an hour while the bell is down; with it one poll serves all.")


def explain(call: Invocation, queue: Queue = "", lane: LaneNumber = 0) -> None:
    """Why does a queue, or a lane, wait? What holds it back, and what comes next."""
    kind, which = _meant(queue, lane)
    with call.connect() as road:
        said = road.ask("GET", f"/v1/{kind}s:explain", {kind: which})
    if call.json:
        as_json(said)
    else:
        out().print(said["sentence"], soft_wrap=True)


def limit(
    call: Invocation, rate: Rate, queue: Queue = "", lane: LaneNumber = 0, cost: Cost = 1
) -> None:
    """Start no more than that, from now on, in the whole fleet: 50/s, 50/s,1000/h, or none."""
    kind, which = _meant(queue, lane)
    wish = {kind: which, "rate": None if rate == "none" else rate, "cost": cost}
    with call.connect() as road:
        said = road.ask("POST", f"/v1/{kind}s:limit", data=wish)
    if call.json:
        as_json(said)
    else:
        out().print(f"{kind} {which} from now on: {rate}", soft_wrap=True)


def _meant(queue: str, lane: int) -> tuple[str, str | int]:
    if bool(queue) == bool(lane):
        raise BadInput("say which: a queue's name, or --lane NUMBER")
    return ("queue", queue) if queue else ("lane", lane)


def _changing(verb: str, done: str) -> Callable[..., None]:
    def change(call: Invocation, queue: Queue = "", lane: LaneNumber = 0) -> None:
        kind, which = _meant(queue, lane)
        with call.connect() as road:
            said = road.ask("POST", f"/v1/{kind}s:{verb}", data={kind: which})
        if call.json:
            as_json(said)
        else:
            out().print(f"{done}: {kind} {which}", soft_wrap=True)

    change.__name__ = verb
    return change
