"""Options about how webhooks and endpoints are authorized. Secrets are in files: a command line is
seen by everybody on the machine."""

import sys
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from postroad.cli.command import SharedOptions
from postroad.cli.options import Option
from postroad.cli.printing import when
from postroad.model.errors import BadInput

NONE: Final = "none"


class AccessSettings(SharedOptions, frozen=True):
    """How requests are authorized and connections made."""

    auth: Annotated[
        str | None,
        Option(help='A file with JSON as {"type": "bearer", "token": …}; `-` reads it, or `none`.'),
    ] = None
    certificate: Annotated[
        str | None, Option(help="A file with the client certificate; `none` removes all of it.")
    ] = None
    certificate_key: Annotated[str | None, Option(help="A file with its key.")] = None
    ca: Annotated[
        str | None, Option(help="A file with authorities to trust instead of the system's.")
    ] = None
    shape: Annotated[
        str | None, Option(help="plain, cloudevents (as JSON) or cloudevents-binary (in headers).")
    ] = None
    names: Annotated[
        str | None,
        Option(help="Names of the signature's headers, as svix-id,svix-timestamp,svix-signature."),
    ] = None
    transform: Annotated[
        str | None, Option(help="The name of a registered transformation; `none` removes it.")
    ] = None


def access_data(settings: AccessSettings) -> dict[str, Any]:
    """Return what the options change, as the API takes it."""
    data: dict[str, Any] = {"shape": settings.shape} if settings.shape else {}
    if settings.names is not None:
        data["names"] = _names(settings.names)
    if settings.transform is not None:
        data["transform"] = "" if settings.transform == NONE else settings.transform
    if settings.auth is not None:
        data["auth"] = None if settings.auth == NONE else _auth(settings.auth)
    files = {"certificate": settings.certificate, "key": settings.certificate_key}
    files["ca"] = settings.ca
    given = {name: file for name, file in files.items() if file is not None}
    if given:
        gone = settings.certificate == NONE
        data["tls"] = None if gone else {name: _read(file) for name, file in given.items()}
    return data


def access_rows(said: dict[str, Any]) -> list[tuple[str, object]]:
    """Return what is set, as rows."""
    ends = said["certificate_ends_at_ms"]
    return [
        ("auth", said["auth"] or "none"),
        ("certificate", f"ours, until {when(ends)}" if ends else "none"),
        ("shape", said["shape"]),
        ("transformation", said["transform"] or "none"),
        ("authorities", "its own" if said["own_ca"] else "the system's"),
    ]


def _names(text: str) -> dict[str, str]:
    given = [name.strip() for name in text.split(",")]
    if len(given) != 3:
        raise BadInput("--names: give three, as svix-id,svix-timestamp,svix-signature")
    return dict(zip(("id", "timestamp", "signature"), given, strict=True))


def _auth(file: str) -> Any:
    try:
        return msgspec.json.decode(_read(file))
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        raise BadInput('--auth: this is no JSON as {"type": "bearer", "token": …}') from None


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{file} cannot be read: {error}") from None
