"""When the kernel took what a server reads: one that stands still for a moment on a busy machine
would see what came meanwhile as one crowd."""

import socket
import struct
import time

SO_TIMESTAMPNS = 35


def stamp_arrivals(server: socket.socket) -> None:
    """Its connections get a time with what they read."""
    server.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)


def receive(connection: socket.socket) -> tuple[bytes, int]:
    """What came, and when its last bytes did: nanoseconds since 1970."""
    data, notes, _, _ = connection.recvmsg(65_536, 64)
    for _, kind, stamp in notes:
        if kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", stamp)
            return data, int(seconds * 1_000_000_000 + nanoseconds)
    return data, time.time_ns()  # the end has none, nor what came while stamps were turned on
