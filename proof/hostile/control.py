"""The guards of the road, taken away from outside: the scenario must see that they are gone."""

import re
from typing import Final

from postroad.api import listening
from postroad.config import names
from postroad.engine import lane_reader
from postroad.engine.capacity import Capacity
from postroad.hub import pings
from postroad.hub.client_connection import ClientConnection
from postroad.transports.webhook.reading import Reader

CUBIC: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\0]*?)[ \t]*")
"""A header, with three ways to take each blank: 2,200 of them and a NUL take seconds."""
PATIENT: Final = {
    "head_wait_s": "100000",
    "body_wait_s": "100000",
    "connections_per_address_max": "1000000",
    "watchdog_s": "0",
}


def disarm() -> None:
    """In this process answers are read to their end and as if blanks were free, frames of hubs that
    are none are heard out, and a tenant's lanes are tried and asked about as many at once as there
    are."""
    read = Reader.read

    def slowly(self: Reader, data: bytes) -> bool:
        for line in data.split(b"\r\n"):
            _ = CUBIC.fullmatch(line)  # whether it is one does not matter
        return read(self, data)

    everything = 1 << 30
    for what, name, instead in (
        (Reader, "read", slowly),
        (Reader, "_is_enough", lambda _reader: False),
        (ClientConnection, "_control", lambda *_frame: None),
        (pings, "FLOOD", everything),
        (listening, "DROPS_MAX", everything),
        (Capacity, "left_unproven", lambda _room, _tenant: everything),
        (lane_reader, "AT_ONCE", everything),
        (lane_reader, "IN_COMPANY", everything),
    ):
        setattr(what, name, instead)  # from outside, which is the point


def patient_settings() -> list[str]:
    """Settings with which nobody is ever hung up on."""
    return [f"{name}={value}" for name, value in PATIENT.items() if name in names()]
