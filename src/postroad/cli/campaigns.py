"""`postroad campaign`: one template to many recipients, once, at the allowed rate."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

from postroad.cli.attachments import store_file
from postroad.cli.campaign_files import Name, State, campaign_path, export, import_file
from postroad.cli.command import (
    Commands,
    Invocation,
    Limit,
    Listing,
    SharedOptions,
    Yes,
    add_group,
    confirmed,
)
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, out, when
from postroad.cli.watching import answered, pause
from postroad.model.errors import BadInput
from postroad.model.wording import duration_text

Row = Annotated[int, Option(help="The number of the recipient.")]
Override = Annotated[bool, Option(help="Never halt this campaign automatically again.")]
PAGE: Final = 1_000
LIVE: Final = ("scheduled", "running")
PLAIN: Final = {
    "start": "Start sending now.",
    "stop": "Stop sending until it is resumed, also over restarts.",
    "retry": "Send again to recipients that certainly failed, never to uncertain ones.",
    "cancel": "Cancel it for good.",
}


def add(app: Group) -> None:
    """Add the commands for campaigns."""
    own = (
        create,
        edit,
        clone,
        delete,
        details,
        show,
        counts,
        preview,
        estimate,
        schedule,
        resume,
        settle,
    )
    more = (discard, lookup, recipients, export)
    commands: Commands = {each.__name__: each for each in (*own, *more)}
    commands |= {"test": try_message, "list": list_campaigns, "import": import_file}
    commands |= {verb: _asking(verb, text) for verb, text in PLAIN.items()}
    text = "Campaigns: one template to many recipients."
    add_group(app, "campaign", "Campaigns", text, commands)


def _ask(call: Invocation, method: str, path: str, data: object = None, **query: object) -> Any:
    return call.ask(method, path, query, data)


class TemplateOptions(SharedOptions, frozen=True):
    """What a campaign sends."""

    template: Annotated[str, Option(help="The template of the text, or @FILE.")] = ""
    subject: Annotated[str, Option(help="The template of a mail's subject.")] = ""
    html: Annotated[str, Option(help="The template of a mail's HTML, or @FILE.")] = ""
    attachment: Annotated[
        list[str] | None,
        Option(
            "--attachment",
            help="A file that the mails have; as CID=FILE an image that the HTML shows as cid:CID. "
            "May be repeated.",
        ),
    ] = None

    zone: Annotated[
        str, Option(help="The recipients' time zone; a column `zone` counts before it.")
    ] = ""

    def given(self, call: Invocation) -> dict[str, Any]:
        """Those that were given. Files are stored first."""
        texts: dict[str, Any] = {"template": _text(self.template), "subject": self.subject}
        texts |= {"html": _text(self.html), "zone": self.zone}
        texts["attachments"] = [_attached(call, each) for each in self.attachment or ()]
        return {name: value for name, value in texts.items() if value}


def _attached(call: Invocation, text: str) -> dict[str, Any]:
    cid, mark, file = text.partition("=")
    if mark and not Path(text).exists():
        return store_file(call, Path(file), cid=cid)
    return store_file(call, Path(text))


def create(
    call: Listing,
    name: Name,
    credential: Annotated[str, Option(help="The credential to send with.")],
    *,
    what: TemplateOptions,
    recipient: Annotated[str, Option(help="The column that holds the recipient.")] = "recipient",
    jobs: Annotated[int, Option(help="How many senders work on it at once.")] = 1,
) -> None:
    """Create a campaign as a draft without recipients."""
    data = {
        "name": name,
        "credential": credential,
        **what.given(call),
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


def edit(
    call: Listing,
    name: Name,
    credential: Annotated[str, Option(help="The credential to send with.")] = "",
    *,
    what: TemplateOptions,
    recipient: Annotated[str, Option(help="The column that holds the recipient.")] = "",
    jobs: Annotated[int | None, Option(help="How many senders work on it at once.")] = None,
    failures_min: Annotated[int | None, Option(help="It halts only above so many.")] = None,
    failures_percent: Annotated[float | None, Option(help="And above so many %.")] = None,
) -> None:
    """Change a draft or a scheduled campaign; what is not given stays."""
    data = {
        "credential": credential or None,
        **what.given(call),
        "recipient": recipient or None,
        "jobs": jobs,
        "failures_min": failures_min,
        "failures_percent": failures_percent,
    }
    given = {key: value for key, value in data.items() if value is not None}
    if not given:
        raise BadInput("nothing to change: give --template, --credential or another option")
    _tell(call, _ask(call, "POST", campaign_path(name, "edit"), given))


def clone(
    call: Listing,
    name: Name,
    to: Annotated[str, Argument(help="The name of the new campaign.")],
    recipients: Annotated[bool, Option(help="Copy the recipients, none of them sent to.")] = False,
) -> None:
    """Create a draft with the credential, template and options of a campaign."""
    _tell(
        call, _ask(call, "POST", campaign_path(name, "clone"), {"to": to, "recipients": recipients})
    )


def delete(call: Invocation, name: Name, yes: Yes = False) -> None:
    """Delete a draft, a cancelled or a done campaign with its recipients and results. It asks
    first."""
    if not yes and not confirmed(f"Delete campaign {name} with its recipients and results?"):
        raise BadInput("nothing was deleted: give --yes, or answer the question")
    _ = _ask(call, "DELETE", campaign_path(name))  # a refusal is raised
    call.reply({"deleted": name}, f"deleted: {name}")


def details(call: Listing, name: Name) -> None:
    """Show its template and options."""
    said = _ask(call, "GET", campaign_path(name, "details"))
    if call.printed(said):
        return
    halt = said.pop("halt")
    said["columns"] = ", ".join(said["columns"])
    said["halts"] = f"above {halt['failures_min']} failures and {halt['percent']:g} %"
    templates = [said.pop(part) for part in ("subject", "template", "html")]
    call.facts(said.items())
    for template in filter(None, templates):
        out().print(template)


def list_campaigns(call: Listing) -> None:
    """List all campaigns with their states and counts."""
    with call.connect() as road:
        said = page = road.ask("GET", "/v1/campaigns", {"limit": PAGE})
        while len(page) == PAGE:
            page = road.ask("GET", "/v1/campaigns", {"limit": PAGE, "after": page[-1]["id"]})
            said += page
    if call.printed(said):
        return
    columns = ("campaign~", "state", "total#", "sent#", "failed#", "uncertain#", "unsent#")
    names = ("total", "sent", "failed", "uncertain", "unsent")
    rows = [(one["name"], one["state"], *(one["counts"][n] for n in names)) for one in said]
    call.table(columns, rows, "no campaigns: `postroad campaign create`")


def show(
    call: Listing,
    name: Name,
    watch: Annotated[bool, Option(help="Update it until the campaign ends.")] = False,
) -> None:
    """Show its state, counts, rate, and when it will be done."""
    with call.connect() as road:
        said = road.ask("GET", campaign_path(name))
        while watch and said["state"] in LIVE:
            err().print(_line(said))
            pause(1)
            said = answered(lambda: road.ask("GET", campaign_path(name)), err().print)
    _tell(call, said)


def _line(said: dict[str, Any]) -> str:
    counts = said["counts"]
    done = counts["total"] - counts["unsent"]
    left = duration_text(int(said["eta_s"] * 1000)) if said["eta_s"] else "?"
    return f"{done}/{counts['total']}  {said['rate']:g}/s  {left} left"


def _tell(call: Listing, said: dict[str, Any]) -> None:
    if call.printed(said):
        return
    counts = said["counts"]
    states = ("total", "sent", "failed", "uncertain", "suppressed", "unsent")
    call.facts(
        [
            ("campaign", said["name"]),
            ("state", f"{said['state']} {said['reason']}".strip()),
            *((name, counts[name]) for name in states),
            ("temporary", f"{counts['temporary']} of the failed ones were told to try later"),
            ("rate", f"{said['rate']:g}/s" if said["rate"] else "–"),
            ("left", duration_text(int(said["eta_s"] * 1000)) if said["eta_s"] else "–"),
            ("starts", when(said["start_at_ms"])),
            ("blocked", f"{when(said['blocked_until_ms'])} {said['block_reason']}".strip()),
        ]
    )


def counts(call: Listing, name: Name) -> None:
    """Count recipients one by one, by state."""
    said = _ask(call, "GET", campaign_path(name, "counts"))
    if not call.printed(said):
        call.facts(said.items())


def discard(call: Invocation, name: Name) -> None:
    """Discard an unfinished import."""
    _ = _ask(call, "DELETE", campaign_path(name, "import"))  # a refusal is raised
    call.reply({"discarded": name}, f"discarded: the unfinished import of {name}")


def preview(call: Invocation, name: Name, row: Row = 1) -> None:
    """Show the message for one recipient."""
    said = _ask(call, "GET", campaign_path(name, "preview"), row=row)
    if call.printed(said):
        return
    for text in filter(None, (said["subject"], said["text"], said["html"])):
        out().print(text)
    if said["problem"]:
        raise BadInput(f"recipient {row}: {said['problem']}")
    err().print(", ".join((f"to {said['recipient']}", *_segments(said["cost"], said["encoding"]))))


def _segments(count: int, encoding: str) -> tuple[str, ...]:
    """How long an SMS is; other messages have no segments, and no encoding of them."""
    return (f"{count} segment{'' if count == 1 else 's'} {encoding}",) if encoding else ()


def try_message(
    call: Listing,
    name: Name,
    to: Annotated[str, Option(help="Who receives it.")],
    row: Row = 1,
) -> None:
    """Send the message of one recipient to somebody else, as a test; no state changes."""
    said = _ask(call, "POST", campaign_path(name, "test"), {"to": to, "row": row})
    if not call.printed(said):
        call.facts(
            (key, said[key]) for key in ("state", "provider_id", "code", "sub_type", "error")
        )


def estimate(call: Listing, name: Name) -> None:
    """Estimate a start: how many recipients, which are invalid, the cost and the duration."""
    said = _ask(call, "GET", campaign_path(name, "estimate"))
    if call.printed(said):
        return
    call.facts(
        [
            ("recipients", said["recipients"]),
            ("invalid", said["invalid"]),
            ("suppressed", said["suppressed"]),
            *([("segments", said["segments"])] if any(said["encodings"]) else ()),
            ("cost", f"{said['cost']:g}"),
            (
                "takes",
                duration_text(int(said["seconds"] * 1000)) if said["seconds"] else "as it goes",
            ),
        ]
    )
    for one in (*said["invalid_rows"], *said["suppressed_rows"]):
        err().print(f"{one['n']} {one['recipient']}: {one['reason']}")


def schedule(
    call: Listing,
    name: Name,
    at: Annotated[str, Argument(help="The time with its zone, as 2026-12-01T09:00+08:00.")],
) -> None:
    """Schedule the start."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        raise BadInput(f"{at!r} is not a time: write 2026-12-01T09:00+08:00") from None
    _tell(call, _ask(call, "POST", campaign_path(name, "schedule"), {"at": moment}))


def resume(call: Listing, name: Name, override: Override = False) -> None:
    """Resume with the recipients to whom nothing was sent."""
    _tell(call, _ask(call, "POST", campaign_path(name, "resume"), {"override": override}))


def settle(
    call: Invocation,
    name: Name,
    state: Annotated[str, Option(help="What they are: sent or unsent.")],
    row: Annotated[
        list[int] | None,
        Option(help="A recipient's number; may be repeated; all uncertain ones unless given."),
    ] = None,
) -> None:
    """Settle uncertain recipients as sent or unsent."""
    said = _ask(call, "POST", campaign_path(name, "settle"), {"state": state, "rows": row or []})
    _settled(call, said)


def lookup(call: Invocation, name: Name) -> None:
    """Ask the provider what became of uncertain recipients."""
    _settled(call, _ask(call, "POST", campaign_path(name, "lookup")))


def _settled(call: Invocation, said: dict[str, Any]) -> None:
    call.reply(said, f"settled: {said['settled']}")


def recipients(
    call: Listing,
    name: Name,
    state: State = "",
    limit: Limit = 100,
    after: Annotated[int, Option(help="Continue after this number.")] = 0,
) -> None:
    """List recipients in order, with their states."""
    said = _ask(
        call, "GET", campaign_path(name, "recipients"), state=state, limit=limit, after=after
    )
    if call.printed(said):
        return
    columns = ("n#", "line#", "recipient", "state", "status", "code", "why", "error~", "sent")
    rows = [
        (
            one["n"],
            one["line"],
            one["recipient"],
            one["state"],
            one["status"],
            one["code"],
            one["sub_type"],
            one["error"],
            when(one["sent_at_ms"]),
        )
        for one in said
    ]
    call.table(columns, rows, "none")


def _asking(verb: str, text: str) -> Callable[..., None]:
    def run(call: Listing, name: Name) -> None:
        _tell(call, _ask(call, "POST", campaign_path(name, verb)))

    run.__doc__ = text
    return run
