"""The ledger's own process: every line is on the disk before it is answered with one byte.

What it has written goes to stdout too, for whoever waits for something to happen. It ends when
its stdin does, that is with the process that started it.
"""

import os
import selectors
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tests.crash.book import Entry

SOCKET = "ledger.sock"
BOOK = "ledger.book"


class Peer:
    """One engine process."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self._rest = b""

    def read(self) -> list[bytes] | None:
        """Whole lines, or None at the end. A process that was killed with answers unread
        gives a reset, after all that it wrote."""
        try:
            data = self.link.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line + b"\n" for line in lines]

    def answer(self, count: int) -> None:
        with suppress(ConnectionError):  # it was killed meanwhile; what it said stands
            self.link.sendall(b"." * count)


def serve(server: socket.socket, book: BinaryIO, feed: BinaryIO) -> None:
    selector = selectors.DefaultSelector()
    selector.register(server, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    while True:
        lines: list[bytes] = []
        owed: list[tuple[Peer, int]] = []
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                return
            if key.fileobj is server:
                link, _ = server.accept()
                selector.register(link, selectors.EVENT_READ, Peer(link))
                continue
            said = key.data.read()
            if said is None:
                selector.unregister(key.fileobj)
                key.data.link.close()
                said = [Entry("gone").line()]
            else:
                owed.append((key.data, len(said)))
            lines += said
        write(lines, book, feed)
        for peer, count in owed:
            peer.answer(count)


def write(lines: list[bytes], book: BinaryIO, feed: BinaryIO) -> None:
    if lines:
        book.writelines(lines)
        book.flush()
        os.fsync(book.fileno())
        feed.writelines(lines)
        feed.flush()


def main() -> None:
    with (
        socket.socket(socket.AF_UNIX) as server,
        Path(BOOK).open("ab") as book,
        os.fdopen(sys.stdout.fileno(), "wb") as feed,
    ):
        server.bind(SOCKET)
        server.listen()
        write([Entry("open").line()], book, feed)
        serve(server, book, feed)


if __name__ == "__main__":
    main()
