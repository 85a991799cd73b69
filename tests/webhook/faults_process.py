"""A raw-socket server with one port for each fault; prints the ports as JSON and runs until killed.

What a client sends is read no further than a fault says, and answered with bytes, not by a library.
"""

import json
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable

HEAD = b"HTTP/1.1 200 OK\r\n"
LONG_S = 600


def take(client: socket.socket) -> None:
    """Read one whole request."""
    said = b""
    while b"\r\n\r\n" not in said:
        said += client.recv(65536) or b"\r\n\r\n"
    head, _, body = said.partition(b"\r\n\r\n")
    length = next(
        (int(x.split(b":")[1]) for x in head.lower().split(b"\r\n") if b"content-length" in x), 0
    )
    while len(body) < length and (more := client.recv(65536)):
        body += more


def reset(client: socket.socket) -> None:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def hang() -> None:
    time.sleep(LONG_S)


def fine(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"content-length: 2\r\nconnection: close\r\n\r\nok")


def reset_before_reading(client: socket.socket) -> None:
    client.recv(1, socket.MSG_PEEK)  # before anything was sent it is another fault
    reset(client)


def reset_after_reading(client: socket.socket) -> None:
    take(client)
    reset(client)


def close_after_reading(client: socket.socket) -> None:
    take(client)


def stall_before_reading(_client: socket.socket) -> None:
    hang()


def stall_after_reading(client: socket.socket) -> None:
    take(client)
    hang()


def stall_in_head(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"x-slow: ")
    hang()


def drip_head(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD)
    while True:
        client.sendall(b"x-drip: a\r\n")
        time.sleep(0.05)


def endless_headers(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD)
    for number in range(10**9):
        client.sendall(b"x-%d: %s\r\n" % (number, b"a" * 1000))


def endless_header(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"x-endless: ")
    while True:
        client.sendall(b"a" * 65536)


def endless_continue(client: socket.socket) -> None:
    take(client)
    while True:
        client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        time.sleep(0.001)


def endless_body(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"\r\n")
    while True:
        client.sendall(b"a" * 65536)


def endless_error_body(client: socket.socket) -> None:
    take(client)
    client.sendall(b"HTTP/1.1 500 Oops\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        client.sendall(b"10000\r\n" + b"e" * 65536 + b"\r\n")


def stall_in_body(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"content-length: 100\r\n\r\nhalf")
    hang()


def stall_in_error_body(client: socket.socket) -> None:
    take(client)
    client.sendall(b"HTTP/1.1 429 Slow down\r\nretry-after: 7\r\ncontent-length: 9\r\n\r\nhalf")
    hang()


def cut_body(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"content-length: 100\r\n\r\nhalf")


def reset_in_body(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"content-length: 100\r\n\r\nhalf")
    time.sleep(0.2)
    reset(client)


def bad_chunks(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n4\r\nhalf\r\nnot-a-length\r\n")
    hang()


def bad_encoding(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"content-encoding: gzip\r\ncontent-length: 5\r\n\r\nplain")


def odd_bytes(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"x-odd: \xff\xfe\xe9\r\ncontent-length: 3\r\n\r\n\x00\xff\xfe")


def garbage(client: socket.socket) -> None:
    take(client)
    client.sendall(b"\x15\x03\x01 what?\r\n\r\n")


def early_answer(client: socket.socket) -> None:
    client.recv(1)
    client.sendall(b"HTTP/1.1 413 Too much\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
    time.sleep(0.5)


def two_lengths(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"content-length: 2\r\ncontent-length: 5\r\n\r\nokokok")


def blanks_and_a_nul(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"x-blank: " + b" " * 60_000 + b"\0\r\ncontent-length: 0\r\n\r\n")


def nothing_but_blanks(client: socket.socket) -> None:
    take(client)
    client.sendall(HEAD + b"x-blank: " + b" " * 60_000 + b"\r\ncontent-length: 0\r\n\r\n")


def byte_by_byte(client: socket.socket) -> None:
    take(client)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for byte in HEAD + b"transfer-encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0\r\nx: y\r\n\r\n":
        client.sendall(bytes([byte]))


FAULTS = (
    fine,
    blanks_and_a_nul,
    nothing_but_blanks,
    byte_by_byte,
    reset_before_reading,
    reset_after_reading,
    close_after_reading,
    stall_before_reading,
    stall_after_reading,
    stall_in_head,
    drip_head,
    endless_headers,
    endless_header,
    endless_continue,
    endless_body,
    endless_error_body,
    stall_in_body,
    stall_in_error_body,
    cut_body,
    reset_in_body,
    bad_chunks,
    bad_encoding,
    odd_bytes,
    garbage,
    early_answer,
    two_lengths,
)


def serve(fault: Callable[[socket.socket], None]) -> int:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)

    def answer(client: socket.socket) -> None:
        try:
            fault(client)
        except OSError:
            pass
        finally:
            client.close()

    def loop() -> None:
        while True:
            client, _ = listener.accept()
            threading.Thread(target=answer, args=(client,), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()
    return int(listener.getsockname()[1])


def full_backlog() -> int:
    """Nobody accepts, and there is no more place to wait: connecting takes for ever."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    for _ in range(4):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(listener.getsockname())
        KEPT.append(client)
    KEPT.append(listener)
    return int(listener.getsockname()[1])


def refused() -> int:
    """Bound and not listening: nobody else can take the port meanwhile."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    KEPT.append(taken)
    return int(taken.getsockname()[1])


KEPT: list[socket.socket] = []

if __name__ == "__main__":
    ports = {fault.__name__: serve(fault) for fault in FAULTS}
    ports |= {"refused": refused(), "full_backlog": full_backlog()}
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    sys.stdin.read()
