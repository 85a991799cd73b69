"""Every text that somebody gives has a maximum length: in requests, in programs, in the one table."""

import inspect
import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from postroad import Postroad
from postroad.api.app import ROUTES
from postroad.model.credential import CredentialSpec
from postroad.model.errors import BadInput
from postroad.model.texts import TEXTS_MAX
from postroad.verbs.bounding import bounded
from postroad.verbs.campaigns import CampaignAdmin
from postroad.verbs.control import Controls, LaneControls
from postroad.verbs.credentials import CredentialAdmin
from postroad.verbs.dead import DeadMessages, DeadWhere
from postroad.verbs.inspection import Inspection
from postroad.verbs.mailboxes import MailboxAdmin
from postroad.verbs.tokens import TokenAdmin
from postroad.verbs.webhooks import WebhookAdmin
from tests.api.stand import Stand

VERBS = (
    CampaignAdmin,
    Controls,
    LaneControls,
    CredentialAdmin,
    DeadMessages,
    Inspection,
    MailboxAdmin,
    TokenAdmin,
    WebhookAdmin,
)
ELSEWHERE = {
    "SendRequest.body_base64": "by body_bytes_max, and by request_bytes_max before it is read",
    "CredentialAdmin.put.secrets": "by FIELD_MAX, with the fields that its kind has",
    "CredentialSpec.options": "the same",
    "CredentialSpec.secrets": "names, which the verb writes itself",
    "CredentialAdmin.site_sessions.queues": "made by the verb `route`",
    "TokenAdmin.make.scopes": "there are four",
    "TokenAdmin.who.text": "a header's length; it is only hashed",
}
"""Texts that are bounded by something else."""


def requests() -> Iterator[type[Struct]]:
    """What the bodies of all requests are read as."""
    for route in ROUTES:
        if route.takes is not None:
            yield route.takes


def unbounded(kind: Any, name: str) -> Iterator[str]:
    """The texts in a type that may be of any length."""
    info = msgspec.inspect
    if isinstance(kind, info.StrType):
        if kind.max_length is None and not (kind.pattern or "").endswith(")$"):
            yield name
    elif isinstance(kind, info.StructType):
        for field in kind.fields:
            yield from unbounded(field.type, f"{kind.cls.__name__}.{field.encode_name}")
    elif isinstance(kind, info.UnionType):
        for each in kind.types:
            yield from unbounded(each, name)
    elif isinstance(kind, info.DictType):
        yield from unbounded(kind.key_type, f"{name}, its names")
        yield from unbounded(kind.value_type, f"{name}, its values")
    elif isinstance(kind, info.ListType | info.VarTupleType):
        yield from unbounded(kind.item_type, name)


def test_every_text_of_every_request_has_a_bound() -> None:
    kinds = set(requests())
    assert len(kinds) >= 15
    found = {
        name for kind in kinds for name in unbounded(msgspec.inspect.type_info(kind), kind.__name__)
    }
    assert found - set(ELSEWHERE) == set()


def test_one_without_a_bound_is_named() -> None:
    class Loose(Struct):
        name: str
        more: dict[str, list[str]] | None = None

    found = set(unbounded(msgspec.inspect.type_info(Loose), "Loose"))
    assert found == {"Loose.name", "Loose.more, its names", "Loose.more, its values"}


async def test_every_text_in_a_query_or_a_header_has_a_bound(stand: Stand) -> None:
    document = (await stand.say("GET", "/v1/openapi.json")).json()
    loose = [
        f"{method} {path}: {parameter['name']}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for parameter in operation.get("parameters", ())
        for schema in (parameter["schema"], *parameter["schema"].get("anyOf", ()))
        if parameter["in"] in ("query", "header")
        and schema.get("type") == "string"
        and not {"maxLength", "enum", "format", "pattern"}
        & {**schema, **parameter["schema"]}.keys()
    ]
    assert loose == []


def test_every_text_that_a_verb_takes_has_a_bound() -> None:
    """Those in paths, which no schema bounds, come here too."""
    loose = [
        label
        for kind in VERBS
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
        for parameter, hint in typing.get_type_hints(method).items()
        if parameter not in ("return", *TEXTS_MAX) and _is_text(hint)
        if (label := f"{kind.__name__}.{name}.{parameter}") not in ELSEWHERE
    ]
    assert loose == []
    assert {
        name for name, hint in typing.get_type_hints(DeadWhere).items() if _is_text(hint)
    } <= set(TEXTS_MAX)
    texts = {name for name, hint in typing.get_type_hints(CredentialSpec).items() if _is_text(hint)}
    assert {each for each in texts if f"CredentialSpec.{each}" not in ELSEWHERE} <= set(TEXTS_MAX)


def _is_text(hint: Any) -> bool:
    return hint is str or str in typing.get_args(hint)


def test_a_verb_that_is_not_bounded_is_told_apart() -> None:
    class Loose:
        def say(self, name: str) -> int:
            return len(name)

    assert Loose().say("x" * 300) == 300
    bounded(Loose)
    with pytest.raises(BadInput, match="name has 300 characters: at most 200"):
        Loose().say("x" * 300)


LONG = "x" * 30_000
SPEC = CredentialSpec("https://x.example", "a", "b")


async def refuse(road: Postroad) -> None:
    """Each verb that stores or reads a text refuses one that is too long, and names it."""
    url = "https://example.com/"
    calls: list[tuple[str, Any]] = [
        ("queue", lambda: road.send(LONG, 1)),
        ("queue", lambda: road.send_many([(LONG, 1)])),
        ("tenant", lambda: road.send("good", 1, tenant=LONG)),
        ("key", lambda: road.send("good", 1, key=LONG)),
        ("order_key", lambda: road.send("good", 1, order_key=LONG)),
        ("headers", lambda: road.send("good", 1, headers={"a": LONG})),
        ("queue", lambda: road.pause(LONG)),
        ("rate", lambda: road.limit("good", LONG)),
        ("queue", lambda: road.explain_queue(LONG)),
        ("id", lambda: road.cancel(LONG)),
        ("order_key", lambda: road.cancel_all(order_key=LONG)),
        ("after", lambda: road.inspect.queues(after=LONG)),
        ("after", lambda: road.dead.list(after=LONG)),
        ("error", lambda: road.dead.purge(error=LONG)),
        ("name", lambda: road.tokens.make(LONG)),
        ("tenant", lambda: road.tokens.make("a", tenant=LONG)),
        ("url", lambda: road.webhooks.set(url + LONG)),
        ("secret", lambda: road.webhooks.set(url, secrets=[LONG])),
        ("header", lambda: road.webhooks.set(url, headers={"a": LONG})),
        ("header", lambda: road.webhooks.set(url, headers={LONG: "a"})),
        ("headers", lambda: road.webhooks.set(url, headers={f"a{n}": "" for n in range(101)})),
        ("name", lambda: road.credentials.put(LONG, SPEC, "s")),
        ("secret", lambda: road.credentials.put("a", SPEC, LONG)),
        ("rate", lambda: road.credentials.put("a", replaced(rate=LONG), "s")),
        ("callback", lambda: road.credentials.put("a", replaced(callback=LONG), "s")),
        ("template", lambda: road.campaigns.create("a", credential="b", template=LONG)),
        ("recipient", lambda: road.campaigns.create("a", credential="b", template="c", recipient=LONG)),
        ("encoding", lambda: road.campaigns.import_file("a", "b.csv", encoding=LONG)),
        ("box", lambda: road.mailboxes.explain(LONG)),
    ]  # fmt: skip
    for name, call in calls:
        with pytest.raises(BadInput, match=rf"{name}.*(at most|limit is) [0-9]+") as caught:
            await call()
        assert len(str(caught.value)) < 1_000, "nobody wants to read all of it again"


def replaced(**changes: str) -> CredentialSpec:
    return msgspec.structs.replace(SPEC, **changes)


async def test_a_text_that_is_too_long_is_refused_by_its_name(stand: Stand) -> None:
    await refuse(stand.road)
    with pytest.raises(BadInput, match="cron has 30000 characters: at most 200"):
        stand.road.every(LONG)


@pytest.mark.parametrize("text", ["a\0b", "a\ud800b"])
async def test_a_text_that_not_every_store_takes_is_refused_by_its_name(
    stand: Stand, text: str
) -> None:
    """SQLite would take a zero character, and the road could never be copied to PostgreSQL."""
    road = stand.road
    calls: list[tuple[str, Any]] = [
        ("queue", lambda: road.send(text, 1)),
        ("key", lambda: road.send("good", 1, key=text)),
        ("order_key", lambda: road.send("good", 1, order_key=text)),
        ("name", lambda: road.tokens.make(text)),
        ("account", lambda: road.credentials.put("a", replaced(account=text), "s")),
        ("template", lambda: road.campaigns.create("a", credential="b", template=text)),
    ]
    for name, call in calls:
        with pytest.raises(BadInput, match=f"{name} has (a zero|half a) character"):
            await call()


async def test_without_the_table_it_would_be_stored(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TEXTS_MAX, "order_key", 1 << 30)
    assert (await stand.road.send("good", 1, order_key=LONG)).id


async def test_over_http_the_field_is_named_with_its_limit(stand: Stand) -> None:
    for path, field, data in (
        ("/v1/messages", "key", {"queue": "good", "body": 1, "key": LONG}),
        ("/v1/messages", "headers[...]", {"queue": "good", "body": 1, "headers": {"a": LONG}}),
        ("/v1/queues:limit", "rate", {"queue": "good", "rate": "1/" + " " * 60_000}),
        ("/v1/tokens", "name", {"name": LONG}),
        ("/v1/webhooks", "names.id", {"url": "https://x.example/", "names": {"id": LONG}}),
    ):
        answer = await stand.say("PUT" if "webhooks" in path else "POST", path, data)
        (error,) = answer.json()["errors"]
        assert (answer.status, error["field"]) == (400, field)
        assert "of length <= " in error["message"]
    long = await stand.say("GET", "/v1/queues", query={"after": LONG})
    assert long.status == 400
