"""Bodies that commands are given: JSON, text or bytes."""

import sys
from base64 import b64encode
from typing import Annotated

import msgspec

from postroad.cli.command import SharedOptions
from postroad.cli.options import Option
from postroad.cli.printing import err
from postroad.model.errors import BadBody, BadInput


class BodyFlags(SharedOptions, frozen=True):
    """What kind of body is given, if it is not JSON."""

    text: Annotated[bool, Option("--text", help="The body is text, not JSON.")] = False
    is_bytes: Annotated[bool, Option("--bytes", help="The body is sent as it is, as bytes.")] = (
        False
    )

    def read(self, given: str) -> dict[str, str | msgspec.Raw]:
        """Read a body that is given as an argument, or on standard input, as the field of a
        request."""
        if self.text and self.is_bytes:
            raise BadInput("give --text or --bytes, one of them")
        body = _read(given)
        if self.is_bytes:
            return {"body_base64": b64encode(body).decode()}
        try:
            words = body.decode()
        except UnicodeError:
            raise BadBody("the body is not UTF-8: send it with --bytes") from None
        return {"body": words if self.text else _json(body)}


def _read(given: str) -> bytes:
    if given != "-":
        return given.encode(errors="surrogateescape")  # as the shell gave it
    if sys.stdin.isatty():
        err().print("the body, then Ctrl+D:")
    return sys.stdin.buffer.read()


def _json(body: bytes) -> msgspec.Raw:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadBody(
            f"the body is not JSON ({error}): quote it, as in '{{\"id\": 7}}', or use --text"
        ) from None
    return msgspec.Raw(body)
