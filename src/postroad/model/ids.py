"""Ids of messages, events and endpoints: 63 bits, ordered by time, made where they are used."""

from postroad.model.errors import UnknownMessage

EPOCH_MS = 1_704_067_200_000  # 2024-01-01: 41 bits of milliseconds last until 2093
NODE_BITS = 13
SEQUENCE_BITS = 9
NODES = 1 << NODE_BITS
PREFIX = "msg_"
CAMPAIGN_PREFIX = "cmp_"
ROW_BITS = 32
ROW_DIGITS = 10
# Crockford's alphabet keeps the order of the numbers in the order of the texts.
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
DIGITS = 13
PAIRS = [high + low for high in ALPHABET for low in ALPHABET]


class IdSequence:
    """Hands out rising ids; never goes back, even when the clock does."""

    def __init__(self, node: int) -> None:
        self._node = node % NODES
        self._last = 0

    def next(self, now_ms: int) -> int:
        """The next id: (milliseconds, sequence, node), so that the newest is the largest."""
        tick = max((now_ms - EPOCH_MS) << SEQUENCE_BITS, self._last + 1)
        self._last = tick
        return (tick << NODE_BITS) | self._node


def made_at_ms(number: int) -> int:
    """Return when this id was made."""
    return (number >> (SEQUENCE_BITS + NODE_BITS)) + EPOCH_MS


def first_after(moment_ms: int) -> int:
    """Return a number that is larger than every id made before this time."""
    return max(0, moment_ms - EPOCH_MS) << (SEQUENCE_BITS + NODE_BITS)


def to_text(number: int) -> str:
    """Return a message's id as users see it."""
    # Two digits at once: every receipt has one, and thirteen single ones took 4 µs.
    return (
        f"{PREFIX}{ALPHABET[number >> 60 & 31]}{PAIRS[number >> 50 & 1023]}"
        f"{PAIRS[number >> 40 & 1023]}{PAIRS[number >> 30 & 1023]}{PAIRS[number >> 20 & 1023]}"
        f"{PAIRS[number >> 10 & 1023]}{PAIRS[number & 1023]}"
    )


def to_digits(number: int) -> str:
    """Return the digits of an id."""
    return to_text(number)[len(PREFIX) :]


def campaign_id(campaign: int, n: int) -> int:
    """Return the id of a campaign's message to its recipient `n`: below zero, which no other is."""
    return -((campaign << ROW_BITS) | n)


def campaign_row(number: int) -> tuple[int, int]:
    """Return the campaign and the recipient's number of such an id."""
    return -number >> ROW_BITS, -number & ((1 << ROW_BITS) - 1)


def key_text(number: int) -> str:
    """Return how a message is named to providers and receivers, the same over all tries."""
    if number >= 0:
        return to_text(number)
    campaign, n = campaign_row(number)
    return f"{CAMPAIGN_PREFIX}{campaign}_{n}"


def key_number(text: str) -> int | None:
    """Return the id that `key_text` has named; None when it is none."""
    if not text.startswith(CAMPAIGN_PREFIX):
        return to_number(text) if text.startswith(PREFIX) else None
    campaign, mark, n = text.removeprefix(CAMPAIGN_PREFIX).partition("_")
    plain = mark and all(part.isdecimal() and part.isascii() for part in (campaign, n))
    if not plain or len(campaign) > ROW_DIGITS or len(n) > ROW_DIGITS:
        return None
    return campaign_id(int(campaign), int(n)) if int(n) >> ROW_BITS == 0 else None


def to_number(text: str) -> int:
    """Return a message's id as the store keeps it."""
    number = read_id(text, PREFIX)
    if number is None:
        raise UnknownMessage(
            f"{text[:40]!r} is not a message id; ids look like {PREFIX}{'0' * DIGITS}, as in a "
            "receipt"
        )
    return number


def read_id(text: str, prefix: str) -> int | None:
    """Read an id behind its prefix; None when it is none."""
    digits = text[: len(prefix) + DIGITS + 1].removeprefix(prefix)
    known = set(digits) <= set(ALPHABET) and digits[:1] < "8"  # 63 bits
    if not (text.startswith(prefix) and len(digits) == DIGITS and known):
        return None
    number = 0
    for digit in digits:
        number = (number << 5) | ALPHABET.index(digit)
    return number
