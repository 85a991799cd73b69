"""A provider of SMS that is trusted with a credential, and answers with whatever hurts."""

from asyncio import StreamWriter
from itertools import cycle
from typing import Final

from proof.hostile.receivers import (
    Hostility,
    blanks_and_a_nul,
    deep_json,
    drop_by_drop,
    endless_body,
    one_byte_chunks,
    patience_of_ages,
)

ACCOUNT: Final = b'{"friendly_name": "x\\u0000\\u001b]0;owned", "status": "active"}'


def taken(body: bytes) -> bytes:
    return b"HTTP/1.1 201 Made\r\ncontent-length: %d\r\n\r\n" % len(body) + body


async def account(line: StreamWriter) -> None:
    """Who asks whether the credential works is told so, with a name that steers terminals."""
    line.write(taken(ACCOUNT).replace(b"201", b"200", 1))


async def nul_in_its_id(line: StreamWriter) -> None:
    """An id that PostgreSQL cannot store."""
    line.write(taken(b'{"sid": "SM\\u0000\\ud800\\u202e"}'))


async def endless_id(line: StreamWriter) -> None:
    """An id of a megabyte."""
    line.write(taken(b'{"sid": "' + b"x" * (1 << 20) + b'"}'))


async def an_id_that_is_no_text(line: StreamWriter) -> None:
    """JSON of another shape."""
    line.write(taken(b'{"sid": {"sid": [1e999]}, "code": "NaN"}'))


async def a_code_that_is_no_code(line: StreamWriter) -> None:
    """A refusal with numbers beyond every column."""
    body = b'{"code": 99999999999999999999999999, "message": "\\u0000' + b"y" * 60_000 + b'"}'
    line.write(b"HTTP/1.1 400 No\r\ncontent-length: %d\r\n\r\n" % len(body) + body)


ANSWERS: Final[tuple[Hostility, ...]] = (
    nul_in_its_id,
    a_code_that_is_no_code,
    an_id_that_is_no_text,
    endless_id,
    deep_json,
    blanks_and_a_nul,
    one_byte_chunks,
    endless_body,
    drop_by_drop,
    patience_of_ages,
)
_TURNS: Final = cycle(ANSWERS)


async def provider(line: StreamWriter) -> None:
    """One after the other, each message another one."""
    await next(_TURNS)(line)
