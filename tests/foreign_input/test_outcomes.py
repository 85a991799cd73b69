"""Foreign bytes that are hostile have the right outcome: a clear refusal or none, never a crash."""

import asyncio
import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postroad import Message
from postroad.api.problems import BadRequest
from postroad.api.reading import decode
from postroad.api.routes.messages import SEND
from postroad.campaigns.reading import BadFile, open_source
from postroad.campaigns.template import NESTED_MAX, Template
from postroad.config import address
from postroad.hub.http import HttpProtocol
from postroad.model.campaign import BadTemplate
from postroad.model.errors import BadDsn, BadInput, BadSetting, Reject
from postroad.model.foreign import CHARACTERS_MAX
from postroad.model.outcome import Kind
from postroad.model.pace import read_limit
from postroad.stores.rabbitmq.envelope import BadEnvelope, unpack
from postroad.stores.rabbitmq.fleet.presence import read as read_sign
from postroad.stores.rabbitmq.options import read_options
from postroad.stores.rabbitmq.wire.confirms import Confirms
from postroad.stores.rabbitmq.wire.connection import ServerFacts
from postroad.stores.rabbitmq.wire.field_table import read_table
from postroad.stores.rabbitmq.wire.frame_protocol import FrameProtocol
from postroad.stores.rabbitmq.wire.frames import METHOD, cold
from postroad.stores.rabbitmq.wire.properties import Delivery
from postroad.transports.call_plan import plan_call
from postroad.transports.sms.answers import judge
from tests.foreign_input.broker import deep_tables, frame, message, overrun_tables
from tests.foreign_input.wires import Line, Patient, hub

DEEP = b"[" * 50_000 + b"]" * 50_000
WEEK_MS, DAY_MS = 7 * 86_400_000, 86_400_000
NINES = "9" * 9_000


@pytest.mark.parametrize("body", [DEEP, b'{"sid":"\xff"}', b'{"x":' + DEEP + b"}", b"\0", b""])
def test_a_providers_answer_that_cannot_be_read_has_its_statuss_meaning(body: bytes) -> None:
    assert judge(201, {}, body).kind is Kind.delivered
    assert judge(400, {}, body).kind is Kind.failed
    assert judge(500, {}, body).kind is Kind.unknown


def test_a_provider_that_asks_for_aeons_is_asked_again_after_a_day() -> None:
    said = judge(429, {"retry-after": NINES}, DEEP)
    assert (said.kind, said.after_ms) == (Kind.quota, DAY_MS)
    assert judge(429, {"retry-after": "²"}, b"").after_ms == 0


def test_what_a_provider_says_is_cut() -> None:
    taken = judge(201, {}, msgspec.json.encode({"sid": "S" * 60_000}))
    assert len(taken.provider.id) <= 200
    refused = judge(400, {}, msgspec.json.encode({"code": 10**18, "message": "x" * 60_000}))
    assert len(refused.provider.code) <= 20
    assert len(refused.error) <= CHARACTERS_MAX


@pytest.mark.parametrize("text", [DEEP, b'{"a": ' + DEEP + b"}", b'"\xff"'])
def test_a_typed_handlers_message_that_cannot_be_read_is_dead_and_not_tried_again(
    text: bytes,
) -> None:
    def handle(message: Message[dict[str, list[int]]]) -> None:
        del message

    with pytest.raises(Reject, match="does not fit"):
        plan_call(handle, "work", {}).reads(text, {})


def test_an_error_about_a_request_does_not_repeat_it() -> None:
    name = "matching regex '^(" * 50_000
    with pytest.raises(BadRequest) as caught:
        decode(msgspec.json.encode({"queue": "a", name: 1}), SEND)
    assert len(str(caught.value)) < 2_000
    with pytest.raises(BadRequest, match="nested too deep"):
        decode(b'{"queue":"a","body":' + DEEP + b"}", SEND)
    with pytest.raises(BadRequest):
        decode(b'{"queue":"a","priority":%s}' % NINES.encode(), SEND)


@pytest.mark.parametrize(
    "text",
    [
        "{{ a" + "|upper" * NESTED_MAX + " }}",
        "{{ " + "not " * 200 + "a }}",
        "{{ a" + " or a" * 2_000 + " }}",
        "{{ " + "(" * 5_000 + "a" + ")" * 5_000 + " }}",
        "{% if a %}" * 500 + "{% endif %}" * 500,
        "{{ " + NINES + " }}",
    ],
)
def test_a_template_that_is_nested_too_deep_is_refused(text: str) -> None:
    with pytest.raises(BadTemplate, match=r"nest less|over 50 words|over 20 `if`|over 20 digits"):
        Template(text)


def test_a_template_may_be_nested_as_deep_as_people_do() -> None:
    deepest = Template("{{ a" + "|upper" * (NESTED_MAX - 1) + " }}")
    assert deepest.render({"a": "x"}) == "X"
    text = "{% if a %}" * 20 + "{{ a or b or c or 'you' }}" + "{% endif %}" * 20
    assert Template(text).render({"a": "x", "b": "", "c": ""}) == "x"


@pytest.mark.parametrize("encoding", ["punycode", "idna", "utf-7", "hex", "undefined", "a\0b", "é"])
def test_only_encodings_of_files_are_taken(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("recipient\n+6591234567\n")
    with pytest.raises(BadFile, match="no encoding"):
        open_source(path, "recipient", encoding)
    assert open_source(path, "recipient", "latin-1").columns == ("recipient",)


def test_a_header_line_that_csv_refuses_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a" * 200_000)
    with pytest.raises(BadFile, match="line 1: broken CSV"):
        open_source(path, "recipient")


def test_numbers_of_thousands_of_digits_are_refused_in_words() -> None:
    with pytest.raises(BadInput, match="rate has 9000 characters: at most 200"):
        read_limit(NINES)
    with pytest.raises(BadSetting, match="give HOST:PORT"):
        address(f"127.0.0.1:{NINES}")
    with pytest.raises(BadDsn, match="give a number"):
        read_options(f"amqp://h?prefetch={NINES}")
    assert ServerFacts("", f"3.{NINES}.²", frozenset()).number[0] == 3


def test_rates_are_read_as_before() -> None:
    assert [w.most for w in read_limit(" 50 / s , 1000/ 2 h").windows] == [50, 1_000]
    for text in ("1 0/s", "/s", "1/", "1/0s", "1//s", "1/s/s", "١/s"):
        with pytest.raises(BadInput):
            read_limit(text)


def headers(table: bytes) -> bytes:
    return struct.pack(">HI", 0x2000, len(table)) + table


@pytest.mark.parametrize(
    "packed",
    [
        headers(overrun_tables(30_000)),
        headers(deep_tables(30_000)),
        headers(b"\x01a?"),
        struct.pack(">HI", 0x2000, 1 << 31),
        b"",
    ],
)
def test_headers_from_a_broker_that_cannot_be_read_are_those_of_a_stranger(packed: bytes) -> None:
    found = Delivery(1, False, "", "", packed, b"{}").properties.headers
    with pytest.raises(BadEnvelope, match="not sent by Postroad"):
        unpack(found, b"{}")


def test_a_value_ends_where_its_table_does() -> None:
    with pytest.raises(ValueError, match="behind the end"):
        read_table(struct.pack(">I", 7) + b"\x01bS" + struct.pack(">I", 100) + b"x" * 100, 0)
    assert read_table(struct.pack(">I", 8) + b"\x01bS\0\0\0\x01x", 0) == ({"b": "x"}, 12)


class Seen:
    """What one channel was given."""

    def __init__(self) -> None:
        self.got: list[bytes] = []

    def on_method(self, data: bytes, at: int, stop: int) -> None:
        self.got.append(data[at:stop])

    on_header = on_body = on_method


@pytest.mark.parametrize("size", [1, 3, 7, 8, 9, 100])
def test_frames_of_a_broker_may_come_in_any_pieces(size: int) -> None:
    data = message(1_000, 4) + frame(METHOD, b"last") + frame(METHOD, b"")

    async def story() -> list[bytes]:
        wire, seen = FrameProtocol("here", lambda _error: None), Seen()
        wire.connection_made(Line())  # type: ignore[arg-type]
        wire.readers[1] = seen  # type: ignore[assignment]
        for at in range(0, len(data), size):
            wire.data_received(data[at : at + size])
        return seen.got

    got = asyncio.run(story())
    assert [len(one) for one in got] == [4, 14, 250, 250, 250, 250, 4, 0]


def test_nobody_waits_for_a_frame_that_is_too_large() -> None:
    ended: list[Any] = []

    async def story() -> None:
        wire = FrameProtocol("here", ended.append)
        wire.connection_made(Line())  # type: ignore[arg-type]
        for byte in struct.pack(">BHI", 1, 1, 1 << 31) + b"x":
            wire.data_received(bytes([byte]))

    asyncio.run(story())
    assert len(ended) == 1


def test_a_confirm_of_all_tags_to_come_confirms_those_that_are_open() -> None:
    async def story() -> None:
        confirms = Confirms()
        open_ = [confirms.add(b"") for _ in range(3)]
        confirms.answer(1 << 63, None, multiple=True)
        assert all(one.done() for one in open_)
        later = confirms.add(b"")
        confirms.answer(4, None, multiple=True)
        assert later.done()

    asyncio.run(story())


def test_a_long_cold_method_is_none() -> None:
    data = frame(METHOD, b"\0" * 20_000)
    with pytest.raises(ValueError, match="a method of 20000 bytes"):
        cold(data, 7, len(data) - 1)


@pytest.mark.parametrize(("blanks", "status"), [(127, b"404"), (128, b"400"), (15_000, b"400")])
def test_the_hub_refuses_what_its_parser_would_take_long_for(blanks: int, status: bytes) -> None:
    said: list[bytes] = []

    class Heard(Line):
        def write(self, data: bytes) -> None:
            said.append(data)

    async def story() -> None:
        http = HttpProtocol(hub(), None, Patient(), None)  # type: ignore[arg-type]
        http.begin(Heard())  # type: ignore[arg-type]
        http.data_received(b"GET /x HTTP/1.1\r\nhost: x\r\na:" + b" " * blanks + b"x\r\n\r\n")

    asyncio.run(story())
    assert said[0].split(b" ")[1] == status


def test_a_workers_sign_that_cannot_be_read_is_none() -> None:
    assert read_sign(DEEP) is None
    assert read_sign(b'"\xff"') is None
