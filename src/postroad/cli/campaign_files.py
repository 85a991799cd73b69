"""Files of campaigns: recipients that are imported, results that are exported."""

from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from postroad.cli.client import FileImport
from postroad.cli.command import Invocation, Listing
from postroad.cli.options import Argument, Option
from postroad.cli.printing import err, pieces
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

if TYPE_CHECKING:
    from postroad.app import Postroad

Name = Annotated[str, Argument(help="The campaign's name.")]
State = Annotated[str, Option(help="Only these: unsent, sent, failed, uncertain or suppressed.")]


def campaign_path(name: str, verb: str = "") -> str:
    """The route of a campaign, or of one of its verbs."""
    return f"/v1/campaigns/{part(name)}" + (f"/{verb}" if verb else "")


def import_file(
    call: Listing,
    name: Name,
    file: Annotated[Path, Argument(help="A CSV file; its first line names the columns.")],
    encoding: Annotated[
        str, Option(help="The file's encoding; guessed and printed unless given.")
    ] = "",
    skip_invalid: Annotated[bool, Option(help="Skip invalid lines.")] = False,
) -> None:
    """Import recipients from a CSV file. If a line is invalid, nothing is imported."""
    if not file.is_file():
        raise BadInput(f"there is no file {file}")
    query: dict[str, Any] = {"encoding": encoding, "skip_invalid": skip_invalid}
    screen = err()

    def told(step: str, done: int, size: int) -> None:
        screen.progress(f"{step} {done * 100 // max(1, size)} %")

    def here(road: "Postroad", tenant: str) -> Awaitable[object]:
        return road.campaigns.import_file(name, file, progress=told, tenant=tenant, **query)

    what = FileImport(campaign_path(name, "import"), query, here, "campaign_import", {"name": name})
    with call.connect() as road:
        said = road.import_file(what, file, told)
    screen.progress("")
    if call.printed(said):
        return
    guessed = " (guessed)" if said["guessed"] else ""
    call.facts(
        [
            ("recipients", said["rows"]),
            ("duplicates", f"{said['duplicates']} {said['duplicate_lines'] or ''}".strip()),
            ("invalid", said["invalid"]),
            ("suppressed", said["suppressed"]),
            ("encoding", said["encoding"] + guessed),
            ("columns", ", ".join(said["columns"])),
        ]
    )
    for one in said["problems"]:
        err().print(f"line {one['line']}: {one['reason']}")
    for one in said["suppressed_lines"]:
        err().print(f"line {one['n']}: {one['recipient']} is not sent to: {one['reason']}")


def export(
    call: Invocation,
    name: Name,
    form: Annotated[str, Option("--format", help="csv or ndjson.")] = "csv",
    state: State = "",
) -> None:
    """Write all results to standard output; with --json as ndjson."""
    with call.connect() as road:
        pieces(road.export(name, "ndjson" if call.json else form, state))
