"""AMQP field tables, which hold message headers. Integers are sent as 64 bits, text as UTF-8."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from struct import Struct
from typing import Final, TypeAlias

Value: TypeAlias = (
    "bool | int | float | str | bytes | Decimal | datetime | list[Value] | dict[str, Value] | None"
)

_LONG: Final = Struct(">I")
_NUMBER: Final = Struct(">q")
_INT: Final = Struct(">cq")
_FLOAT: Final = Struct(">cd")
_SIZED: Final = Struct(">cI")


def write_table(table: Mapping[str, Value]) -> bytes:
    """Encode a table with its length prefix."""
    parts: list[bytes] = []
    for name, value in table.items():
        key = name.encode()
        parts += (bytes((len(key),)), key, write_value(value))
    packed = b"".join(parts)
    return _LONG.pack(len(packed)) + packed


def write_value(value: Value) -> bytes:
    """Encode a value with its type prefix."""
    if isinstance(value, str):
        text = value.encode()
        return _SIZED.pack(b"S", len(text)) + text
    if value is None:
        return b"V"
    if isinstance(value, bool):
        return b"t\x01" if value else b"t\x00"
    if isinstance(value, int):
        return _INT.pack(b"l", value)
    if isinstance(value, bytes):
        return _SIZED.pack(b"x", len(value)) + value
    if isinstance(value, float):
        return _FLOAT.pack(b"d", value)
    if isinstance(value, dict):
        return b"F" + write_table(value)
    if isinstance(value, list):
        packed = b"".join(map(write_value, value))
        return _SIZED.pack(b"A", len(packed)) + packed
    raise TypeError(f"a header cannot hold {type(value).__name__}")


def read_table(data: bytes, at: int) -> tuple[dict[str, Value], int]:
    """Decode the table at an offset; answers the table and the offset of its end."""
    end = at + 4 + _LONG.unpack_from(data, at)[0]
    at += 4
    table: dict[str, Value] = {}
    while at < end:
        stop = at + 1 + data[at]
        name = data[at + 1 : stop].decode("utf-8", "surrogateescape")
        # Our own headers are strings and integers: decoding them inline halves the time.
        if data[stop] == 83:  # S
            at = stop + 5 + _LONG.unpack_from(data, stop + 1)[0]
            table[name] = data[stop + 5 : at].decode("utf-8", "surrogateescape")
        elif data[stop] == 108:  # l
            table[name] = _NUMBER.unpack_from(data, stop + 1)[0]
            at = stop + 9
        else:
            table[name], at = read_value(data, stop)
    return table, _ended(at, end)


def read_value(data: bytes, at: int) -> tuple[Value, int]:
    """Decode the value at an offset; answers the value and the offset of its end."""
    kind = data[at]
    if kind == 83:  # S
        start = at + 5
        end = start + _LONG.unpack_from(data, at + 1)[0]
        return data[start:end].decode("utf-8", "surrogateescape"), end
    fixed = _FIXED.get(kind)
    if fixed is not None:
        packed, make = fixed
        return make(*packed.unpack_from(data, at + 1)), at + 1 + packed.size
    if kind == 70:  # F
        return read_table(data, at + 1)
    if kind not in (65, 120):
        raise ValueError(f"a header of unknown type {kind}")
    start = at + 5
    end = start + _LONG.unpack_from(data, at + 1)[0]
    if kind == 120:  # x
        return data[start:end], end
    values: list[Value] = []
    while start < end:
        value, start = read_value(data, start)
        values.append(value)
    return values, _ended(start, end)


def _ended(at: int, end: int) -> int:
    """Check that a table or list ends where it should. Without the check, overlapping values would
    be read twice, and nested tables 2^n times."""
    if at != end:
        raise ValueError("a header goes on behind the end of its table")
    return end


def _moment(seconds: int) -> Value:
    """A datetime, or the number itself when no datetime can hold it: some send milliseconds."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return seconds


def _itself(value: Value) -> Value:
    return value


_FIXED: Final[dict[int, tuple[Struct, Callable[..., Value]]]] = {
    ord("t"): (Struct(">?"), _itself),
    ord("b"): (Struct(">b"), _itself),
    ord("B"): (Struct(">B"), _itself),
    ord("s"): (Struct(">h"), _itself),
    ord("u"): (Struct(">H"), _itself),
    ord("I"): (Struct(">i"), _itself),
    ord("i"): (Struct(">I"), _itself),
    ord("l"): (Struct(">q"), _itself),
    ord("f"): (Struct(">f"), _itself),
    ord("d"): (Struct(">d"), _itself),
    ord("D"): (Struct(">BI"), lambda scale, number: Decimal(number).scaleb(-scale)),
    ord("T"): (Struct(">Q"), _moment),
    ord("V"): (Struct(""), lambda: None),
}
