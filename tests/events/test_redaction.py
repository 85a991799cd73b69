"""Fields that are redacted are sent, and neither shown nor logged."""

import io
from base64 import b64decode
from typing import Any

import msgspec
import pytest

from postroad import Postroad, Reject
from postroad.config import Settings
from postroad.errors import BadSetting
from postroad.model.dead import ReplayMode
from postroad.model.redaction import Redaction
from postroad.observe.log import make_log
from postroad.verbs.parts import Parts
from tests.webhook.conftest import LOCAL, Receiver

CARD = "4111-1111-1111"
SECRETS = (CARD, "anna@example.com", "tail\\u00e9")
RULES = ("order.* /card/number", "/customers/*/mail", "jobs /pin", "/note")
BODY: dict[str, Any] = {
    "card": {"number": CARD, "brand": "V"},
    "customers": [{"mail": "anna@example.com"}, {"mail": None}],
    "note": 'a "tailé"',
}


def road_of(dsn: str, lines: io.StringIO, rules: tuple[str, ...] = RULES) -> Postroad:
    settings = Settings(webhooks=LOCAL, redact=rules)
    return Postroad(dsn, settings=settings, parts=Parts(log=make_log("info", lines)))


async def _told(road: Postroad, receiver: Receiver) -> str:
    """All that is shown of an event whose receiver repeats it, and of a job that raises it."""
    made = await road.endpoints.create(receiver.url("/repeat/400"), reject=(400,))

    @road.handler("jobs", retries=0)
    async def job(message: Any) -> None:
        raise ValueError(f"pin {message.body['pin']} is wrong")

    @road.handler("kept", keep_bodies=3_600)
    async def keep(_message: Any) -> None: ...

    @road.handler("strict")
    async def strict(message: Any) -> None:
        raise Reject(f"no {message.body['note']}")

    said = await road.publish("order.paid", BODY)
    sent = [await road.send("jobs", {"pin": CARD}), await road.send("strict", {"note": CARD})]
    kept = await road.send("kept", {"note": CARD, "customers": [{"mail": "anna@example.com"}]})
    await road.run(until_idle=True)
    ids = [*said.messages, *(one.id for one in sent)]
    shown: list[object] = [await road.events.get(said.id)]
    shown += [await road.dead.show(one) for one in ids]
    shown += [await road.messages.body(one) for one in ids]
    shown += [await road.explain(one) for one in ids]
    shown += await road.webhooks.attempts(said.messages[0])
    shown += [(await road.dead.list()).messages, await road.endpoints.get(made.id)]
    shown += [await road.messages.body(kept.id)]
    shown += [piece async for piece in road.privacy.export(tenant="default")]
    return repr(shown)


async def test_what_is_redacted_is_sent_and_neither_shown_nor_logged(
    dsn: str, receiver: Receiver
) -> None:
    lines = io.StringIO()
    async with road_of(dsn, lines) as road:
        told = await _told(road, receiver) + lines.getvalue()
        for secret in SECRETS:
            assert secret not in told
        assert '"brand":"V"' in told
        assert "pin … is wrong" in told
        for kind in ("event", "dead", "kept_body"):
            assert f'"kind":"{kind}"' in told, "it is exported, without its hidden fields"
        # It is whole where it is needed: sent, and sent again.
        got = receiver.got("/repeat/400")
        assert CARD.encode() in b64decode(got[-1]["body"])
        assert await road.dead.replay(queue="jobs", mode=ReplayMode.once) == 1


async def test_without_the_rules_all_of_it_is_shown(dsn: str, receiver: Receiver) -> None:
    lines = io.StringIO()
    async with road_of(dsn, lines, ()) as road:
        told = await _told(road, receiver)
        for secret in SECRETS[:2]:
            assert secret in told
        assert CARD in lines.getvalue()


def test_rules_are_by_queue_type_and_pointer() -> None:
    rules = Redaction(("order.* /a/b", "/list/*/x", "hook /a~1b/0"))
    assert rules.body("order.paid", b'{"a":{"b":1,"c":2}}') == '{"a":{"b":"…","c":2}}'.encode()
    assert rules.body("refund", b'{"a": {"b":1}}') == b'{"a": {"b":1}}'
    assert rules.body("any", b'{"list":[{"x":1},{"y":2},3]}') == (
        '{"list":[{"x":"…"},{"y":2},3]}'.encode()
    )
    assert rules.body("hook", b'{"a/b":[1,2]}') == '{"a/b":["…",2]}'.encode()
    assert rules.body("order.paid", b"\xff\x00") == b"\xff\x00"
    assert rules.text("order.paid", b'{"a":{"b":{"c":[12345, true, "x"]}}}', "12345 x") == "… x"
    assert rules.text("order.paid", b"[" * 10_000, "text") == "text"


def test_the_beginning_of_a_value_at_a_cut_is_hidden() -> None:
    rules = Redaction(("/pin",))
    body = msgspec.json.encode({"pin": "4111-1111-1111"})
    for cut, told in (("no 4111-1111", "no …"), ("no 4111-11…", "no …"), ("no 411", "no 411")):
        assert rules.text("any", body, cut) == told
    assert rules.text("any", body, "4111-1111-1111 and 4111-") == "… and …"
    assert rules.text("any", body, "") == ""
    long = "".join(map(str, range(100)))
    body = msgspec.json.encode({"pin": long})
    for count in (4, 31, 32, 33, len(long) - 1, len(long)):
        assert rules.text("any", body, f"no {long[:count]}") == "no …"


def test_of_many_values_none_is_told() -> None:
    rules = Redaction(("/pins",))
    for count in (1, 60, 100, 101, 1_000):
        pins = [f"pin-{n:05}" for n in range(count)]
        body = msgspec.json.encode({"pins": pins})
        said = f"not {' '.join(pins)}"
        assert "pin-" not in rules.text("any", body, said), count
        answer = rules.answer("any", body, b"\xff" + said.encode())
        assert b"pin-" not in answer, count
        assert answer.startswith(b"\xffnot ") == (count <= 100)


def test_bad_rules_are_refused_by_name() -> None:
    for bad in ("card", "order.* card/number", "", "/a~2", "/" + "x" * 600):
        with pytest.raises(BadSetting, match=r"redact: .*names no field"):
            Postroad("sqlite:///x.db", settings=Settings(redact=(bad,)))
    with pytest.raises(BadSetting, match="at most 100"):
        Postroad("sqlite:///x.db", settings=Settings(redact=("/a",) * 101))
