"""Files that are sent to a server, and texts that come from it, in pieces."""

import asyncio
import codecs
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final

from msgspec import structs

from postroad.model.errors import BadInput
from postroad.remote.api_request import ApiRequest
from postroad.remote.client import RemoteClient

PIECE_BYTES: Final = 256 << 10
Told = Callable[[str, int, int], None]
"""Called with how far a file has been sent."""


async def upload(
    client: RemoteClient, asked: ApiRequest, path: Path, kind: Any, told: Told | None = None
) -> Any:
    """Send a file as the body of a request; returns its answer, of this kind."""
    try:
        size = (await asyncio.to_thread(path.stat)).st_size
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None
    headers = {**asked.headers, "content-type": "text/csv", "content-length": str(size)}
    asked = structs.replace(asked, method="POST", headers=headers)
    async with client.stream(asked, _pieces(path, size, told)) as answer:
        content = b"".join([piece async for piece in answer])
    return client.read(content, kind)


async def _pieces(path: Path, size: int, told: Told | None) -> AsyncIterator[bytes]:
    done = 0
    with path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, min(PIECE_BYTES, size - done)):
            yield piece
            done += len(piece)
            if told is not None:
                told("send", done, size)
    if done < size:
        raise BadInput(f"{path} became shorter while it was sent: send it again")


async def text_of(client: RemoteClient, asked: ApiRequest) -> AsyncIterator[str]:
    """The text that is answered, in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    async with client.stream(asked) as pieces:
        async for piece in pieces:
            yield decoder.decode(piece)
