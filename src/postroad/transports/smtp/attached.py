"""Stored attachments as mails have them, in base64; those that were used last are in memory."""

import asyncio
from collections import OrderedDict
from typing import Final

from postroad.model.errors import BadInput
from postroad.ports.blobs import Blobs
from postroad.transports.smtp.mime import base64_lines

CACHE_BYTES_MAX: Final = 64 << 20


class StoredAttachments:
    """Reads attachments from the store, each once for the mails that follow each other."""

    def __init__(self, store: object) -> None:
        self._store = store if isinstance(store, Blobs) else None
        self._kept: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._asked: dict[tuple[str, str], asyncio.Task[bytes]] = {}
        self._size = 0

    async def fetch(self, tenant: str, blob: str) -> bytes:
        """Return an attachment in base64; BadInput when it is gone."""
        place = (tenant, blob)
        kept = self._kept.get(place)
        if kept is not None:
            self._kept.move_to_end(place)
            return kept
        task = self._asked.get(place)
        if task is None:
            task = self._asked[place] = asyncio.create_task(self._read(place))
            task.add_done_callback(lambda _: self._asked.pop(place, None))
        return await asyncio.shield(task)

    async def _read(self, place: tuple[str, str]) -> bytes:
        content = await self._store.blob_get(*place) if self._store else None
        if content is None:
            raise BadInput(f"there is no attachment {place[1]}: it was removed")
        encoded = await asyncio.to_thread(base64_lines, content)
        self._kept[place] = encoded
        self._size += len(encoded)
        while self._size > CACHE_BYTES_MAX:
            self._size -= len(self._kept.popitem(last=False)[1])
        return encoded
