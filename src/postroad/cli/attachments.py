"""`postroad attachment`: files that mails and campaigns refer to."""

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec

from postroad.cli.command import After, ExportInvocation, Invocation, Limit, Listing, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import pieces, when
from postroad.model.blobs import BLOB_BYTES_MAX
from postroad.model.errors import BadInput
from postroad.remote.api_request import ApiRequest, part

Id = Annotated[str, Argument(help="The attachment's id: blob_…")]


def add(app: Group) -> None:
    """Add the commands for attachments."""
    commands: dict[str, Any] = {"put": put, "list": list_stored, "get": get, "remove": remove}
    text = "Attachments: files that mails and campaigns refer to."
    add_group(app, "attachment", "Campaigns", text, commands, otherwise="list")


def put(
    call: Invocation,
    file: Annotated[Path, Argument(help="The file; - is standard input.")],
    name: Annotated[str, Option(help="Its name in mails, if another one.")] = "",
    kind: Annotated[str, Option("--type", help="As image/png; else found by its name.")] = "",
    cid: Annotated[str, Option(help="HTML shows it as cid:CID.")] = "",
) -> None:
    """Store a file, and print what a mail refers to it by. The same content is stored once."""
    said = store_file(call, file, name=name, type=kind, cid=cid)
    call.reply(said, f"stored: {msgspec.json.encode(said).decode()}")


def store_file(call: Invocation, file: Path, **about: str) -> dict[str, Any]:
    """Store a file; answers how mails refer to it."""
    try:
        if str(file) == "-":
            content = sys.stdin.buffer.read(BLOB_BYTES_MAX + 1)
        else:
            about["name"] = about.get("name") or file.name
            with file.open("rb") as opened:
                content = opened.read(BLOB_BYTES_MAX + 1)
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from None
    if len(content) > BLOB_BYTES_MAX:
        raise BadInput(f"{file} has more than {BLOB_BYTES_MAX} bytes: link to it")
    query = {key: value for key, value in about.items() if value}
    stored: dict[str, Any] = call.ask("POST", "/v1/attachments", query, content)
    return stored


def list_stored(call: Listing, limit: Limit = 100, after: After = "") -> None:
    """List stored attachments by id."""
    call.listed(
        "/v1/attachments",
        ("attachment", "bytes", "used"),
        lambda row: (row["id"], row["size"], when(row["used_at_ms"])),
        "no attachments are stored",
        limit=limit,
        after=after,
    )


def get(call: ExportInvocation, id: Id) -> None:  # noqa: A002 - the word that mails use
    """Write the content of an attachment to standard output."""
    with call.connect() as road:
        pieces([road.answer(ApiRequest("GET", f"/v1/attachments/{part(id)}")).content])


def remove(call: Invocation, id: Id) -> None:  # noqa: A002
    """Delete an attachment that no message and no campaign needs."""
    call.delete(f"/v1/attachments/{part(id)}", id, done="removed")
