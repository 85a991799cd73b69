"""Bodies that commands are given: JSON, text or bytes."""

import re
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
        return {"body": words if self.text else _json(body, ", or use --text")}


def _read(given: str) -> bytes:
    if given != "-":
        return given.encode(errors="surrogateescape")  # as the shell gave it
    if sys.stdin.isatty():
        err().print("the body, then Ctrl+D:")
    return sys.stdin.buffer.read()


def read_json_body(given: str) -> msgspec.Raw:
    """Read a body that is JSON, as an argument or on standard input. It stays as it is written."""
    return _json(_read(given), "")


def _json(body: bytes, otherwise: str) -> msgspec.Raw:
    try:
        msgspec.json.decode(body)
    except UnicodeDecodeError:
        raise BadBody("the body is not UTF-8, as JSON is") from None
    except (msgspec.DecodeError, RecursionError) as error:
        # The decoder says "truncated" of one that stands near the end.
        is_half = b"\\ud" in body.lower() and re.search("truncated|surrogate", str(error))
        why = "half of a surrogate pair is no character" if is_half else error
        raise BadBody(
            f"the body is not JSON ({why}): quote it, as in '{{\"id\": 7}}'{otherwise}"
        ) from None
    return msgspec.Raw(body)
