"""What clients of the API give, and people in settings, timetables and files."""

import tempfile
from collections import deque
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl

from postroad import config
from postroad.api.app import ROUTES
from postroad.api.problems import BadRequest, NotFound, field_error
from postroad.api.reading import decode
from postroad.api.routes import batch, messages
from postroad.api.routing import Router, read_query
from postroad.campaigns.checking import RowChecker, problem_in
from postroad.campaigns.reading import BadFile, CsvReader, open_source
from postroad.campaigns.redacting import CELLS
from postroad.campaigns.rendering import FIELDS
from postroad.campaigns.template import Template
from postroad.model import hours
from postroad.model.audit import _without_query
from postroad.model.campaign import BadTemplate
from postroad.model.cursors import place_in
from postroad.model.dead import place
from postroad.model.errors import BadInput, BadKey, BadSetting, PostroadError, Reject
from postroad.model.ids import to_number
from postroad.model.keyring import KeyRing, read_keys
from postroad.model.pace import read_limit
from postroad.model.private_headers import DECODE, _opened
from postroad.model.problem import kind
from postroad.model.sms_segments import count_segments
from postroad.model.tokens import identity_of
from postroad.model.webhook import HEADERS
from postroad.model.wording import public_name
from postroad.observe import traces
from postroad.observe.log import _as_text
from postroad.stores import exported_rows
from postroad.stores.audit import WHAT
from postroad.transports.job import _typed, decoder_of
from postroad.transports.sms import channel as sms_channel
from postroad.transports.sms.channel import PHONES, signed
from postroad.transports.webhook.channel import URLS
from tests.foreign_input.answers import DEEP
from tests.foreign_input.shape import BARE, Door

DECODERS: tuple[Any, ...] = tuple(route.decoder for route in ROUTES if route.decoder is not None)
ROUTER = Router(ROUTES)
FIELD = b'{"queue":"a","body":1,"'
RING = KeyRing([("a", b"k" * 32)], bytes)
JOB: Any = decoder_of(dict[str, list[int]])


def asked(data: bytes) -> None:
    for decoder in DECODERS:
        with suppress(BadRequest):
            decode(data, decoder)


def targeted(data: bytes) -> None:
    """A path and a query, as routes read them."""
    ROUTER.find(data.decode("latin-1"))
    given: Any = SimpleNamespace(query=data, headers={"idempotency-key": data.decode("latin-1")})
    given.path = "/"
    with suppress(BadRequest):
        read_query(data)
    for route in ROUTES:
        with suppress(BadRequest, NotFound):
            route._read(given, {"id": data.decode("latin-1"), "campaign": "1", "n": "9" * 300})


def quoted(data: bytes) -> None:
    text = data.decode("latin-1")
    field_error(text[:600], text[:600])
    kind(type(text[:600].replace("\0", "a"), (Exception,), {}))


def recipients(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recipients.csv"
        path.write_bytes(data)
        source = open_source(path, "recipient")
        deque(CsvReader(source, "recipient", PHONES).batches(), 0)
        deque(CsvReader(source, "recipient", URLS).batches(), 0)


def cells(data: bytes) -> None:
    text = data.decode("latin-1")
    problem_in("+" + text)
    for check in (PHONES, URLS):
        check.plain.fullmatch(text)
        RowChecker(("recipient",), "recipient", check).rows([[text], ["+" + text]])


def called_back(data: bytes) -> None:
    with suppress(BadInput):
        sms_channel._form(data)
    form = dict(parse_qsl(data.decode(errors="replace"), keep_blank_values=True))
    assert not signed("token", "https://example.com", form, data[:100].decode("latin-1"))


def traced(data: bytes) -> None:
    text = data.decode("latin-1")
    head = "00-" + "1" * 32 + "-" + "2" * 16 + "-01"
    traces.PROPAGATOR.extract(
        traces._carried({"traceparent": head + "-" + text, "tracestate": text})
    )


def opened(data: bytes) -> None:
    text = data.decode("latin-1")
    for read in (hours.zone_of, hours.SPAN.fullmatch):
        with suppress(BadInput):
            read(text)


def configured(data: bytes) -> None:
    text = data.decode("latin-1")
    config.unknown({"POSTROAD_" + text[:2_000]: "1"})
    for value in (text, "a:" + text):
        with suppress(BadSetting):
            config.address(value)
    for name in ("listen", "body_bytes_max", "origins", "webhooks.ports"):
        with suppress(BadSetting):
            config._convert(name, text, name, config.names())


DOORS = (
    Door(
        "a request",
        asked,
        (
            "api/routes/messages.py:SEND",
            "api/routes/batches.py:KIND",
            "api/routes/batches.py:NESTED",
            "api/reading.py:AT",
            "api/reading.py:UNKNOWN",
            "api/reading.py:MISSING",
            "api/reading.py:choices_at",
        ),
        frames=(
            BARE,
            (b'{"queue":"', b'"}'),
            (FIELD, b'":1}'),
            (b'{"priority":', b"}"),
            (b'{"delay":1e', b"}"),
            (b'{"name":"', b'"}'),
        ),
        shapes={
            **DEEP,
            "a name that quotes the pattern": lambda n: (
                FIELD + b"matching regex '^(" * (n // 17) + b'":1}'
            ),
            "a name that quotes a place": lambda n: FIELD + b" - at `$." * (n // 9) + b'":1}',
            "a name that quotes a name": lambda n: FIELD + b"unknown field `" * (n // 15) + b'":1}',
        },
        size=32_768,
    ),
    Door(
        "the path and the query of a request",
        targeted,
        ("api/routing.py:Route", "api/routing.py:Router", "api/routing.py:read_query"),
        frames=(BARE, (b"/v1/messages/", b"/explain"), (b"limit=", b""), (b"since=", b"&after=x")),
        shapes={
            "many": lambda n: b"a=b&" * (n // 4),
            "many of one": lambda n: b"limit=1&" * (n // 8),
            "parts": lambda n: b"/v1" * (n // 3),
            "quoted": lambda n: b"after=" + b"%41" * (n // 3),
        },
        size=32_768,
    ),
    Door(
        "what is quoted of a request",
        quoted,
        (
            "api/problems.py:PATTERN",
            "model/problem.py:WORDS",
            "api/problems.py:field_error",
        ),
        size=600,
        shapes={"patterns": lambda n: b"matching regex '^(" * (n // 17), "A": lambda n: b"A" * n},
    ),
    Door(
        "a body in base64",
        lambda data: messages._body(
            messages.SendRequest("a", body_base64=data.decode("latin-1") or "=")
        ),
        ("api/bodies.py:from_base64",),
        raises=(BadRequest,),
    ),
    Door(
        "lines of a batch",
        lambda data: batch.Lines(100_000).take(data),
        ("api/routes/batch.py:FULL",),
        shapes={"a letter a line": lambda n: b"a\n" * (n // 2)},
    ),
    Door(
        "a typed handler's message",
        lambda data: _typed(JOB, "it", data, {}),
        ("transports/job.py:decoder_of",),
        frames=(BARE, (b'{"a":[', b"]}")),
        shapes=DEEP,
        raises=(Reject,),
    ),
    Door(
        "a rate",
        lambda data: read_limit(data.decode("latin-1")),
        tuple(f"model/pace.py:{name}" for name in ("COUNT", "SPAN", "read_limit")),
        size=192,
        frames=(BARE, (b"1/", b"s"), (b"1/", b"x"), (b"1", b"/s"), (b"1/s", b",1/s")),
        raises=(BadInput,),
    ),
    Door(
        "allowed hours",
        opened,
        ("model/hours.py:SPAN", "model/hours.py:zone_of"),
        frames=(BARE, (b"09:00-", b""), (b"Europe/", b"")),
    ),
    Door(
        "a rate that is far too long",
        lambda data: read_limit(data.decode("latin-1")),
        (),
        frames=((b"1/", b"x"), (b"1/s,", b"")),
        raises=(BadInput,),
    ),
    Door(
        "ids, cursors and tokens",
        lambda data: (
            identity_of(data.decode("latin-1")),
            _none(lambda text: place(text, text), data),
            _none(lambda text: place_in(text, "queues"), data),
            _none(to_number, data),
        ),
        ("model/tokens.py:identity_of",),
        frames=(BARE, (b"msg_", b""), (b"prt_12345678_", b""), (b"0.", b""), (b"1-", b"")),
    ),
    Door(
        "a callback",
        called_back,
        ("transports/sms/channel.py:_form", "transports/sms/channel.py:signed"),
        size=16_384,
        shapes={
            "many fields": lambda n: b"&".join(b"a%d=b" % i for i in range(n // 8)),
        },
    ),
    Door(
        "a file of recipients",
        recipients,
        tuple(f"campaigns/reading.py:{name}" for name in ("open_source", "CsvReader", "_scan")),
        frames=(
            BARE,
            (b"recipient\n", b"\n"),
            (b'recipient\n"', b""),
            (b"recipient,b\n+1,", b"\n"),
        ),
        shapes={
            "many columns": lambda n: b",".join(b"a%d" % i for i in range(n // 8)),
            "empty lines": lambda n: b"recipient\n" + b"\n" * n,
            "one character a line": lambda n: b"recipient\n" + b"a\n" * (n // 2),
            "quotes within quotes": lambda n: b'recipient\n"' + b'""' * (n // 2) + b'"\n',
            "returns": lambda n: b"recipient\r" + b"\r" * n,
        },
        fills=("blanks", "commas", "letters", "quotes", "digits", "nuls", "tabs"),
        raises=(BadFile,),
    ),
    Door(
        "a cell",
        cells,
        (
            "campaigns/checking.py:NUMBER",
            "transports/sms/channel.py:PHONES",
            "transports/webhook/channel.py:URLS",
        ),
        size=9_600,
        frames=(BARE, (b"1", b"%x"), (b"https://", b"\0")),
        raises=(BadInput,),
    ),
    Door(
        "a template",
        lambda data: Template(data.decode("latin-1")),
        ("campaigns/template.py:Template",),
        size=3_200,
        frames=(
            BARE,
            (b"{{ ", b" }}"),
            (b"{%", b"raw %}"),
            (b"{{ 'a", b"' }}"),
            (b"{#", b"#}"),
            (b"{{ a", b"|upper }}"),
        ),
        shapes={
            "many columns": lambda n: b"{{ a }}" * (n // 7),
            "many ifs": lambda n: b"{% if a %}x{% endif %}" * (n // 22),
            "deep ifs": lambda n: b"{% if a %}" * (n // 20) + b"{% endif %}" * (n // 20),
            "deep brackets": lambda n: b"{{ " + b"(" * (n // 2) + b"a" + b")" * (n // 2) + b" }}",
            "many nots": lambda n: b"{{ " + b"not " * (n // 4) + b"a }}",
            "many ors": lambda n: b"{{ a" + b" or a" * (n // 5) + b" }}",
            "many filters": lambda n: b"{{ a" + b"|upper" * (n // 6) + b" }}",
            "many of the deepest": lambda n: (b"{{ a" + b"|upper" * 11 + b" }}") * (n // 72),
            "many comparisons": lambda n: b"{{ a" + b"==a" * (n // 3) + b" }}",
            "many digits": lambda n: b"{{ 1" + b"_1" * (n // 2) + b" }}",
            "many comments": lambda n: b"{##}" * (n // 4),
        },
        raises=(BadTemplate,),
    ),
    Door(
        "how many segments",
        lambda data: count_segments(data.decode("latin-1")),
        (),
    ),
    Door(
        "a recipient's cells, from the store",
        lambda data: (_none(FIELDS.decode, data), _none(CELLS.decode, data)),
        ("campaigns/rendering.py:FIELDS", "campaigns/redacting.py:CELLS"),
        frames=((b'["', b'"]'),),
    ),
    Door(
        "headers from the store",
        lambda data: (
            _none(DECODE, data),
            _none(HEADERS.decode, data),
            _none(traces.HEADERS.decode, data),
            exported_rows._headers(data),
            _none(WHAT.decode, data),
        ),
        (
            "model/private_headers.py:DECODE",
            "model/webhook.py:HEADERS",
            "observe/traces.py:HEADERS",
            "stores/exported_rows.py:HEADERS",
            "stores/audit.py:WHAT",
        ),
        frames=((b'{"a":"', b'"}'),),
        shapes=DEEP,
    ),
    Door(
        "a sealed header",
        lambda data: _opened("\x01" + data.decode("latin-1"), RING, "here"),
        ("model/private_headers.py:_opened",),
        frames=(BARE, (b"a:", b"")),
        raises=(BadKey, UnicodeError),
    ),
    Door("a trace", traced, ("observe/traces.py:asked", "observe/traces.py:_links")),
    Door(
        "a line of the log",
        lambda data: _as_text({"fact": data.decode("latin-1")}, data.decode("latin-1")),
        ("observe/log.py:UNPLAIN", "observe/log.py:_as_text"),
        frames=(BARE, (b"a", b"\\")),
        shapes={"a letter a line": lambda n: b"a\n" * (n // 2)},
    ),
    Door(
        "what the audit log and the log say of a queue",
        lambda data: (
            public_name(data.decode("latin-1")),
            _without_query(data.decode("latin-1")),
        ),
        ("model/audit.py:_without_query", "model/wording.py:PLAIN", "model/wording.py:public_name"),
        frames=(BARE, (b"https://", b""), (b"https://[", b"]"), (b"https://a/", b"?b")),
        shapes={"parts": lambda n: b"https://a" + b"/b" * (n // 2)},
    ),
    Door(
        "keys",
        lambda data: read_keys(data.decode("latin-1")),
        ("model/keyring.py:read_keys",),
        frames=(BARE, (b"a:", b"")),
        raises=(BadKey,),
    ),
    Door(
        "settings",
        configured,
        tuple(f"config.py:{name}" for name in ("OTHERS", "_convert", "checked", "_in_file")),
        size=16_384,
    ),
)


def _none(call: object, data: bytes) -> object:
    """What it says, or nothing where it refuses."""
    try:
        return call(data if call in RAW else data.decode("latin-1"))  # type: ignore[operator]
    except (PostroadError, ValueError, RecursionError):
        return None


RAW = (FIELDS.decode, DECODE, HEADERS.decode, traces.HEADERS.decode)
