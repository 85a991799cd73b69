"""Which request each verb of campaigns, credentials, attachments and privacy is."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from postroad.campaigns.importing import Imported
from postroad.model.blobs import Attachment
from postroad.model.credential import BadCredential, CredentialSpec
from postroad.model.durations import seconds_of
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import NotOnRemoteRoad
from postroad.model.privacy import Erasure
from postroad.remote.calls import Args, VerbCall, Verbs, ask, request_of
from postroad.remote.client import RemoteClient
from postroad.remote.files import text_of, upload
from postroad.verbs.attachments import UNKNOWN_TYPE
from postroad.verbs.credentials import CredentialView
from postroad.verbs.mail_reports import ReportTaken
from postroad.verbs.privacy import meant
from postroad.verbs.suppressions import ImportedSuppressions

WAIT_MAX_S: Final = 40.0


def _halting(args: Args) -> Args:
    halt = args.pop("halt", None)
    if halt is None:
        return args
    return args | {"failures_min": halt.failures_min, "failures_percent": halt.percent}


async def _import(client: RemoteClient, args: Args) -> Imported:
    """Stream a file of recipients to the server."""
    path, told = Path(args.pop("path")), args.pop("progress")
    call = VerbCall("GET", "/v1/campaigns/{name}/import")
    asked = request_of(client, call, {**args, "file": path.name})
    found: Imported = await upload(client, asked, path, Imported, told)
    return found


def _export(client: RemoteClient, args: Args) -> AsyncIterator[str]:
    args["format"] = args.pop("form")
    call = VerbCall("GET", "/v1/campaigns/{name}/export")
    return text_of(client, request_of(client, call, args))


def _to(state: str) -> VerbCall:
    return VerbCall("POST", f"/v1/campaigns/{{name}}/{state}")


CAMPAIGNS: Final[Verbs] = {
    "create": VerbCall("POST", "/v1/campaigns", shape=_halting),
    "edit": VerbCall("POST", "/v1/campaigns/{name}/edit", again=True, shape=_halting),
    "details": VerbCall("GET", "/v1/campaigns/{name}/details"),
    "clone": VerbCall("POST", "/v1/campaigns/{name}/clone"),
    "delete": VerbCall("DELETE", "/v1/campaigns/{name}"),
    "list": VerbCall("GET", "/v1/campaigns"),
    "show": VerbCall("GET", "/v1/campaigns/{name}"),
    "exact": VerbCall("GET", "/v1/campaigns/{name}/counts"),
    "import_file": _import,
    "discard_import": VerbCall("DELETE", "/v1/campaigns/{name}/import"),
    "preview": VerbCall("GET", "/v1/campaigns/{name}/preview"),
    "test_send": _to("test"),
    "dry_run": VerbCall("GET", "/v1/campaigns/{name}/estimate"),
    "start": _to("start"),
    "schedule": _to("schedule"),
    "stop": _to("stop"),
    "resume": _to("resume"),
    "retry": _to("retry"),
    "cancel": _to("cancel"),
    "settle": VerbCall("POST", "/v1/campaigns/{name}/settle", gives="settled"),
    "lookup": VerbCall("POST", "/v1/campaigns/{name}/lookup", gives="settled"),
    "recipients": VerbCall("GET", "/v1/campaigns/{name}/recipients"),
    "export": _export,
}

# Credentials


def _credential(args: Args) -> Args:
    spec: CredentialSpec = args.pop("spec")
    if not args.pop("check"):
        raise NotOnRemoteRoad("check=False: a server checks each credential before it stores it")
    told: dict[str, Any] = msgspec.structs.asdict(spec)
    told["provider"] = told.pop("server")
    del told["secrets"]  # their names: the secrets themselves are given beside it
    expires_ms = told.pop("expires_at_ms")
    if expires_ms:
        told["expires_at"] = datetime.fromtimestamp(expires_ms / 1000, UTC)
    return args | told


async def _show_credential(client: RemoteClient, args: Args) -> CredentialView:
    name = args.pop("name")
    call = VerbCall("GET", "/v1/credentials")
    found: list[CredentialView] = await ask(client, call, args, list[CredentialView])
    for one in found:
        if one.name == name:
            return one
    raise BadCredential(f"no credential {name!r}: see `postroad credential list`")


CREDENTIALS: Final[Verbs] = {
    "put": VerbCall("POST", "/v1/credentials", again=True, shape=_credential),
    "show": _show_credential,
    "list": VerbCall("GET", "/v1/credentials"),
    "check": VerbCall("POST", "/v1/credentials/{name}/check", again=True, gives="account"),
    "delete": VerbCall("DELETE", "/v1/credentials/{name}"),
}

# Suppression lists


def _reasoned(args: Args) -> Args:
    """Without a reason or a recipient where none is named."""
    return {name: value for name, value in args.items() if value != ""}


async def _import_list(client: RemoteClient, args: Args) -> ImportedSuppressions:
    path = Path(args.pop("path"))
    args |= {"format": args.pop("form"), "file": path.name}
    asked = request_of(
        client, VerbCall("GET", "/v1/suppressions:import", everybody="everywhere"), args
    )
    found: ImportedSuppressions = await upload(client, asked, path, ImportedSuppressions)
    return found


def _export_list(client: RemoteClient, args: Args) -> AsyncIterator[str]:
    args["format"] = args.pop("form")
    path = "/v1/suppressions:export"
    call = VerbCall("POST", path, everybody="everywhere", shape=_reasoned)
    return text_of(client, request_of(client, call, args))


async def _take_report(client: RemoteClient, args: Args) -> ReportTaken:
    mail = args.pop("mail")
    asked = request_of(client, VerbCall("GET", "/v1/suppressions:report"), args)
    headers = {**asked.headers, "content-type": "message/rfc822"}
    asked = replace(asked, method="POST", content=mail, headers=headers)
    answer = await client.ask(asked, again=True)  # one that comes twice says the same
    taken: ReportTaken = client.read(answer.content, ReportTaken)
    return taken


SUPPRESSIONS: Final[Verbs] = {
    "add": VerbCall("POST", "/v1/suppressions", again=True, everybody="everywhere"),
    "remove": VerbCall("DELETE", "/v1/suppressions", everybody="everywhere", gives="count"),
    "list": VerbCall("GET", "/v1/suppressions", everybody="everywhere"),
    "import_": _import_list,
    "export": _export_list,
    "take_report": _take_report,
}

# Attachments


async def _put_attachment(client: RemoteClient, args: Args) -> Attachment:
    content = args.pop("content")
    asked = request_of(client, VerbCall("GET", "/v1/attachments", shape=_reasoned), args)
    headers = {**asked.headers, "content-type": UNKNOWN_TYPE}
    asked = replace(asked, method="POST", content=content, headers=headers)
    answer = await client.ask(asked, again=True)  # the same content is stored once
    stored: Attachment = client.read(answer.content, Attachment)
    return stored


async def _get_attachment(client: RemoteClient, args: Args) -> bytes:
    asked = request_of(client, VerbCall("GET", "/v1/attachments/{id}"), args)
    return (await client.ask(asked)).content


ATTACHMENTS: Final[Verbs] = {
    "put": _put_attachment,
    "get": _get_attachment,
    "list": VerbCall("GET", "/v1/attachments"),
    "remove": VerbCall("DELETE", "/v1/attachments/{id}"),
}

# Privacy


def _subject(args: Args) -> tuple[Args, str | None]:
    """Whose data, as the API asks for it, and the tenant."""
    subject = meant(args.get("tenant"), args.get("recipient"))
    asked: Args = {"recipient": subject.recipient} if subject.recipient else {"everything": True}
    return asked, args.get("tenant") or DEFAULT_TENANT


async def _erase(client: RemoteClient, args: Args) -> Erasure:
    asked, tenant = _subject(args)
    call = VerbCall("POST", "/v1/privacy:erase")
    found: Erasure = await ask(client, call, {**asked, "tenant": tenant}, Erasure)
    return found


async def _export_data(client: RemoteClient, args: Args) -> AsyncIterator[bytes]:
    asked, tenant = _subject(args)
    request = request_of(
        client, VerbCall("POST", "/v1/privacy:export"), {**asked, "tenant": tenant}
    )
    async with client.stream(request) as pieces:
        async for piece in pieces:
            yield piece


async def _erasure(client: RemoteClient, args: Args) -> Erasure:
    """How far an erasure is. A wait of more than one request may have is made of several."""
    call = VerbCall("GET", "/v1/privacy/erasures/{number}", every=True)
    left_s = seconds_of(args.pop("wait"))
    while True:
        found: Erasure = await ask(
            client, call, {**args, "wait_s": min(left_s, WAIT_MAX_S)}, Erasure
        )
        left_s -= WAIT_MAX_S
        if found.is_done or not left_s > 0:
            return found


PRIVACY: Final[Verbs] = {
    "erase": _erase,
    "erasure": _erasure,
    "erasures": VerbCall("GET", "/v1/privacy/erasures", every=True),
    "export": _export_data,
}
