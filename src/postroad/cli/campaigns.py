"""`postroad campaign`: one template to many recipients, once, at the allowed rate."""

import time
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from postroad.api.inside import part
from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, err, facts, out, pieces, table, when
from postroad.model.errors import BadInput
from postroad.model.sentences import span

Name = Annotated[str, typer.Argument(help="The campaign's name.")]
Row = Annotated[int, typer.Option(help="The recipient's number.")]
Override = Annotated[bool, typer.Option(help="It halts by itself no more.")]
State = Annotated[str, typer.Option(help="unsent, sent, failed or uncertain; else all.")]
PAGE: Final = 1_000
LIVE: Final = ("scheduled", "running")
PLAIN: Final = {
    "start": "Send, from now on.",
    "stop": "Begin no more calls, until it is resumed: over restarts too.",
    "retry": "Send again to those that certainly failed; never to uncertain ones.",
    "cancel": "End it for ever.",
}


def add(app: typer.Typer) -> None:
    """These commands."""
    group = typer.Typer(no_args_is_help=True, help="Campaigns: one template to many recipients.")
    app.add_typer(group, name="campaign", rich_help_panel="Campaigns")
    for function in (create, show, counts, preview, estimate, schedule, resume, settle):
        command(group, function.__name__)(function)
    command(group, "test")(try_message)
    command(group, "list")(list_campaigns)
    command(group, "import")(import_file)
    command(group, "discard")(discard)
    command(group, "lookup")(lookup)
    command(group, "recipients")(recipients)
    command(group, "export")(export)
    for verb, text in PLAIN.items():
        command(group, verb, help=text)(_asking(verb))


def _path(name: str, verb: str = "") -> str:
    return f"/v1/campaigns/{part(name)}" + (f"/{verb}" if verb else "")


def _ask(call: Invocation, method: str, path: str, data: object = None, **query: object) -> Any:
    with call.connect() as road:
        return road.ask(method, path, query, data)


def create(
    call: Invocation,
    name: Name,
    credential: Annotated[str, typer.Option(help="Which credential sends it.")],
    template: Annotated[str, typer.Option(help="The text, or @FILE.")],
    recipient: Annotated[str, typer.Option(help="The column of recipients.")] = "recipient",
    jobs: Annotated[int, typer.Option(help="How many senders at once.")] = 1,
) -> None:
    """Make a draft without recipients."""
    data = {
        "name": name,
        "credential": credential,
        "template": _text(template),
        "recipient": recipient,
        "jobs": jobs,
    }
    _tell(call, _ask(call, "POST", "/v1/campaigns", data))


def _text(given: str) -> str:
    if not given.startswith("@"):
        return given
    try:
        return Path(given[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {given[1:]}: {error}") from None


def list_campaigns(call: Invocation) -> None:
    """All campaigns and how they stand."""
    with call.connect() as road:
        said = page = road.ask("GET", "/v1/campaigns", {"limit": PAGE})
        while len(page) == PAGE:
            page = road.ask("GET", "/v1/campaigns", {"limit": PAGE, "after": page[-1]["id"]})
            said += page
    if call.json:
        as_json(said)
        return
    columns = ("campaign", "state", "total#", "sent#", "failed#", "uncertain#", "unsent#")
    names = ("total", "sent", "failed", "uncertain", "unsent")
    rows = [(one["name"], one["state"], *(one["counts"][n] for n in names)) for one in said]
    table(columns, rows, "no campaigns: `postroad campaign create`")


def show(
    call: Invocation,
    name: Name,
    watch: Annotated[bool, typer.Option(help="Until it is over.")] = False,
) -> None:
    """How it stands, how fast it goes, and when it will be done."""
    with call.connect() as road:
        said = road.ask("GET", _path(name))
        while watch and said["state"] in LIVE:
            err().print(_line(said))
            time.sleep(1)  # noqa: TID251 - a person watches
            said = road.ask("GET", _path(name))
    _tell(call, said)


def _line(said: dict[str, Any]) -> str:
    counts = said["counts"]
    done = counts["total"] - counts["unsent"]
    left = span(int(said["eta_s"] * 1000)) if said["eta_s"] else "?"
    return f"{done}/{counts['total']}  {said['rate']:g}/s  {left} left"


def _tell(call: Invocation, said: dict[str, Any]) -> None:
    if call.json:
        as_json(said)
        return
    counts = said["counts"]
    facts(
        [
            ("campaign", said["name"]),
            ("state", f"{said['state']} {said['reason']}".strip()),
            *((name, counts[name]) for name in ("total", "sent", "failed", "uncertain", "unsent")),
            ("rate", f"{said['rate']:g}/s"),
            ("left", span(int(said["eta_s"] * 1000)) if said["eta_s"] else "–"),
            ("starts", when(said["start_at_ms"])),
            ("blocked", f"{when(said['blocked_until_ms'])} {said['block_reason']}".strip()),
        ]
    )


def counts(call: Invocation, name: Name) -> None:
    """Counted recipient by recipient."""
    said = _ask(call, "GET", _path(name, "counts"))
    if call.json:
        as_json(said)
    else:
        facts(said.items())


def import_file(
    call: Invocation,
    name: Name,
    file: Annotated[Path, typer.Argument(help="A CSV file; its first line names the columns.")],
    encoding: Annotated[str, typer.Option(help="Else it is found out, and said.")] = "",
    skip_invalid: Annotated[bool, typer.Option(help="Leave out invalid lines.")] = False,
) -> None:
    """Take the recipients of a file: all, or, when a line is invalid, nothing."""
    if not file.is_file():
        raise BadInput(f"there is no file {file}")
    query: dict[str, Any] = {"encoding": encoding, "skip_invalid": skip_invalid}
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with call.connect() as road, Progress(*columns, console=err(), transient=True) as bar:
        task = bar.add_task("reading")

        def told(step: str, done: int, size: int) -> None:
            bar.update(task, description=step, completed=done, total=size)

        said = road.import_file(name, file, query, told)
    if call.json:
        as_json(said)
        return
    guessed = " (guessed)" if said["guessed"] else ""
    facts(
        [
            ("recipients", said["rows"]),
            ("duplicates", f"{said['duplicates']} {said['duplicate_lines'] or ''}".strip()),
            ("invalid", said["invalid"]),
            ("encoding", said["encoding"] + guessed),
            ("columns", ", ".join(said["columns"])),
        ]
    )
    for one in said["problems"]:
        err().print(f"line {one['line']}: {one['reason']}")


def discard(call: Invocation, name: Name) -> None:
    """Forget an import that was not finished."""
    _ = _ask(call, "DELETE", _path(name, "import"))  # a refusal is raised
    if call.json:
        as_json({"discarded": name})
    else:
        out().print(f"discarded: the unfinished import of {name}")


def preview(call: Invocation, name: Name, row: Row = 1) -> None:
    """The message for one recipient."""
    said = _ask(call, "GET", _path(name, "preview"), row=row)
    if call.json:
        as_json(said)
        return
    out().print(said["parcel"]["body"])
    note = f"to {said['parcel']['recipient']}, {said['cost']} segment(s), {said['encoding']}"
    err().print(note)


def try_message(
    call: Invocation,
    name: Name,
    to: Annotated[str, typer.Option(help="Who gets it instead.")],
    row: Row = 1,
) -> None:
    """Send one recipient's message to somebody else; it counts for nothing."""
    said = _ask(call, "POST", _path(name, "test"), {"to": to, "row": row})
    if call.json:
        as_json(said)
    else:
        facts((key, said[key]) for key in ("state", "provider_id", "code", "sub_type", "error"))


def estimate(call: Invocation, name: Name) -> None:
    """A dry run: how many, which not, what it costs, how long it takes."""
    said = _ask(call, "GET", _path(name, "estimate"))
    if call.json:
        as_json(said)
        return
    facts(
        [
            ("recipients", said["recipients"]),
            ("invalid", said["invalid"]),
            ("segments", said["segments"]),
            ("cost", f"{said['cost']:g}"),
            ("takes", span(int(said["seconds"] * 1000)) if said["seconds"] else "as it goes"),
        ]
    )
    for one in said["invalid_rows"]:
        err().print(f"{one['n']} {one['recipient']}: {one['reason']}")


def schedule(
    call: Invocation,
    name: Name,
    at: Annotated[str, typer.Argument(help="As 2026-12-01T09:00+08:00.")],
) -> None:
    """Send from a time on, which has a zone."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        raise BadInput(f"{at!r} is no time: write 2026-12-01T09:00+08:00") from None
    _tell(call, _ask(call, "POST", _path(name, "schedule"), {"at": moment}))


def resume(call: Invocation, name: Name, override: Override = False) -> None:
    """Go on with what was certainly not sent."""
    _tell(call, _ask(call, "POST", _path(name, "resume"), {"override": override}))


def settle(
    call: Invocation,
    name: Name,
    state: Annotated[str, typer.Option("--as", help="sent or unsent.")],
    row: Annotated[list[int] | None, typer.Option(help="A number; again for more; or all.")] = None,
) -> None:
    """Say what uncertain recipients are: sent, or unsent."""
    said = _ask(call, "POST", _path(name, "settle"), {"state": state, "rows": row or []})
    _settled(call, said)


def lookup(call: Invocation, name: Name) -> None:
    """Ask the provider about uncertain recipients."""
    _settled(call, _ask(call, "POST", _path(name, "lookup")))


def _settled(call: Invocation, said: dict[str, Any]) -> None:
    if call.json:
        as_json(said)
    else:
        out().print(f"settled: {said['settled']}")


def recipients(
    call: Invocation,
    name: Name,
    state: State = "",
    limit: Annotated[int, typer.Option(help="How many at most.")] = 100,
    after: Annotated[int, typer.Option(help="From behind this number on.")] = 0,
) -> None:
    """Recipients in order, each with what is known about it."""
    said = _ask(call, "GET", _path(name, "recipients"), only=state, limit=limit, after=after)
    if call.json:
        as_json(said)
        return
    columns = ("n#", "line#", "recipient", "state", "status", "code", "why", "sent")
    rows = [
        (
            one["n"],
            one["line"],
            one["recipient"],
            one["state"],
            one["status"],
            one["code"],
            one["sub_type"],
            when(one["sent_at_ms"]),
        )
        for one in said
    ]
    table(columns, rows, "none")


def export(
    call: Invocation,
    name: Name,
    form: Annotated[str, typer.Option("--format", help="csv or ndjson.")] = "csv",
    state: State = "",
) -> None:
    """All results, on standard output."""
    with call.connect() as road:
        pieces(road.export(name, form, state))


def _asking(verb: str) -> Any:
    def run(call: Invocation, name: Name) -> None:
        _tell(call, _ask(call, "POST", _path(name, verb)))

    return run
