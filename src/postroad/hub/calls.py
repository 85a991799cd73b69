"""One connection to a hub, from the client's side: questions by number, and what comes unasked."""

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace
from picows import WSCloseCode, WSError, WSFrame, WSListener, WSMsgType, WSTransport, ws_connect

from postroad.hub.frames import MSGPACK, Asked, Codec, Error, Quota, Said
from postroad.model.errors import HubAway, HubLost, HubRefused

CONNECT_S: Final = 10.0
BIG: Final = 16 << 20
CODEC: Final = Codec(MSGPACK)


class Calls(WSListener):
    """Commands and their answers. `heard` gets every frame that is not an answer, and QUOTA."""

    def __init__(self, heard: Callable[[Said], None], lost: Callable[[], None]) -> None:
        self._heard = heard
        self._lost = lost
        self._open: dict[int, asyncio.Future[Said]] = {}
        self._numbers = 0
        self._transport: WSTransport | None = None

    @classmethod
    async def connect(
        cls, url: str, heard: Callable[[Said], None], lost: Callable[[], None]
    ) -> "Calls":
        """A connection, or HubAway."""
        try:
            async with asyncio.timeout(CONNECT_S):
                _, calls = await ws_connect(
                    lambda: cls(heard, lost),
                    url,
                    extra_headers={"Sec-WebSocket-Protocol": MSGPACK},
                    websocket_handshake_timeout=CONNECT_S,
                    max_frame_size=BIG,
                )
        except (WSError, OSError, TimeoutError) as error:
            raise HubAway(f"{url} cannot be reached: {type(error).__name__} {error}") from error
        if not isinstance(calls, cls) or not calls.alive:  # it may have ended before we are told
            raise HubAway(f"{url} hung up at once")
        return calls

    @property
    def alive(self) -> bool:
        """Whether something can be asked."""
        return self._transport is not None

    async def ask(self, command: Asked) -> Said:
        """One command, one answer. HubRefused when it is an error."""
        if self._transport is None:
            raise HubAway("the connection to the hub is gone; nothing was sent")
        self._numbers += 1
        number = self._numbers
        answer: asyncio.Future[Said] = asyncio.get_running_loop().create_future()
        self._open[number] = answer
        try:
            self._transport.send(WSMsgType.BINARY, CODEC.encode(replace(command, n=number)))
            said = await answer
        finally:
            self._open.pop(number, None)
        if isinstance(said, Error):
            raise HubRefused(said.code, said.text)
        return said

    async def close(self) -> None:
        """Say goodbye."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.send_close(WSCloseCode.OK)
            transport.disconnect()
            await transport.wait_disconnected()

    def on_ws_connected(self, transport: WSTransport) -> None:
        """The handshake is done."""
        self._transport = transport

    def on_ws_frame(self, transport: WSTransport, frame: WSFrame) -> None:
        """An answer, or news."""
        if frame.msg_type == WSMsgType.CLOSE:
            transport.send_close(WSCloseCode.OK)
            transport.disconnect()
            return
        if frame.msg_type != WSMsgType.BINARY:
            return
        said = CODEC.event(frame.get_payload_as_bytes())
        if isinstance(said, Quota) or not said.n:
            self._heard(said)  # in order: its continue may follow at once
        answer = self._open.get(said.n)
        if answer is not None and not answer.done():
            answer.set_result(said)

    def on_ws_disconnected(self, transport: WSTransport) -> None:  # noqa: ARG002
        """It is gone: whoever waits for an answer does not get one."""
        self._transport = None
        for answer in self._open.values():
            if not answer.done():
                answer.set_exception(HubLost("the connection broke before the hub answered"))
        self._open = {}
        self._lost()
