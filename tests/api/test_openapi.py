"""The description of the API: complete, resolvable, and a page that works offline."""

import re
from html.parser import HTMLParser
from http import HTTPStatus
from typing import Any

import msgspec
import pytest
from msgspec import structs

from postroad.api.app import ROUTES
from postroad.api.examples import example
from postroad.api.openapi import PARAMETERS, document
from postroad.api.reading import choices_at
from postroad.api.routing import Facts, Route
from postroad.model.phrases import PHRASES
from postroad.model.tokens import Scope
from tests.api.stand import Stand, kind

TOLD = document(ROUTES)
OPERATIONS = {
    f"{method.upper()} {path}": operation
    for path, methods in TOLD["paths"].items()
    for method, operation in methods.items()
}
BY_NAME = {f"{route.method} {route.path}": route for route in ROUTES}


def references(value: Any) -> set[str]:
    """Every `$ref` and every target of a discriminator."""
    match value:
        case {"$ref": str(target)}:
            return {target}
        case {"mapping": dict(targets)}:
            return set(targets.values())
        case dict():
            return set().union(*map(references, value.values())) if value else set()
        case list():
            return set().union(*map(references, value)) if value else set()
        case _:
            return set()


def dangling(told: Any) -> list[str]:
    """References that lead to nothing."""
    found = []
    for target in references(told):
        place: Any = told
        for part in target.removeprefix("#/").split("/"):
            place = place.get(part, {})
        found += [] if place else [target]
    return found


async def test_everybody_may_read_it_and_every_reference_leads_somewhere(stand: Stand) -> None:
    answer = await stand.say("GET", "/v1/openapi.json", token="")
    told = answer.json()
    assert told == msgspec.json.decode(msgspec.json.encode(TOLD))
    assert len(references(told)) > 50
    assert dangling(told) == []
    del told["components"]["schemas"]["Receipt"]
    assert dangling(told) == ["#/components/schemas/Receipt"]


def test_it_is_the_same_on_every_python() -> None:
    """Python 3.13 has other words for 413 than 3.11, and other blanks in docstrings; a release is
    built on either."""
    schemas = TOLD["components"]["schemas"].values()
    assert [each["title"] for each in schemas if "\n" in each.get("description", "")] == []
    named = {name: each["description"] for name, each in TOLD["components"]["responses"].items()}
    assert (named["ContentTooLarge"], named["Conflict"]) == ("Content Too Large", "Conflict")
    assert {name: words.replace(" ", "") for name, words in named.items()} == {n: n for n in named}
    later = {413: "Content Too Large", 422: "Unprocessable Content"}
    assert {status: PHRASES[status] for status in later} == later
    assert PHRASES.keys() == {int(status) for status in HTTPStatus}


def test_routes_and_paths_are_the_same() -> None:
    assert set(OPERATIONS) == set(BY_NAME)
    names = [each["operationId"] for each in OPERATIONS.values()]
    assert len(set(names)) == len(names)
    for path in ("/v1/campaigns/{name}/export", "/v1/openapi.json", "/docs", "/metrics"):
        assert f"GET {path}" in OPERATIONS


def gaps(operation: Any) -> list[str]:
    """What the description of an operation lacks."""
    found = [each for each in ("summary", "description", "tags") if not operation.get(each)]
    for each in operation.get("parameters", []):
        found += [f"{each['name']}: no meaning"] if not each["description"] else []
    body = operation.get("requestBody", {"content": {}, "description": "…"})
    found += [] if body["description"] else ["the body has no description"]
    contents = [
        body["content"],
        *(each.get("content", {}) for each in operation["responses"].values()),
    ]
    for media, content in [pair for each in contents for pair in each.items()]:
        found += [] if content.get("schema") else [f"{media}: no schema"]
        if media == "application/json":
            found += [] if "example" in content else [f"{media}: no example"]
    found += [] if any(status >= "400" for status in operation["responses"]) else ["no problems"]
    return found


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_described_completely(name: str) -> None:
    operation, route = OPERATIONS[name], BY_NAME[name]
    assert gaps(operation) == []
    assert (operation.get("security") == []) == route.facts.is_public
    is_refused = not route.facts.is_public or route.facts.by_code
    assert ("401" in operation["responses"]) == is_refused
    assert ("415" in operation["responses"]) == (route.decoder is not None)
    for content in operation.get("requestBody", {"content": {}})["content"].values():
        if route.decoder is not None:  # what is shown can be sent
            assert route.decoder.decode(msgspec.json.encode(content["example"]))


def test_a_gap_would_be_named() -> None:
    async def handler(odd: str) -> dict[str, Any]:
        raise NotImplementedError(odd)

    route = Route("GET", "/odd", handler, Facts(Scope.read))
    (operation,) = document([route])["paths"]["/odd"].values()
    assert gaps(operation) == ["summary", "odd: no meaning"]
    del operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert "application/json: no schema" in gaps(operation)


def test_no_meaning_of_a_parameter_is_left_over() -> None:
    used = {name for route in ROUTES for name in route.parameters}
    assert set(PARAMETERS) <= used


@pytest.mark.parametrize("name", [name for name, each in BY_NAME.items() if each.decoder])
async def test_a_body_of_another_type_is_refused_and_told_what_to_send(
    stand: Stand, name: str
) -> None:
    method, _, path = name.partition(" ")
    path = path.replace("{id}", "msg_1").replace("{name}", "x")
    for media in ("application/x-www-form-urlencoded", "text/plain; charset=utf-8", "x" * 500):
        refused = await stand.say(method, path, {}, headers={"content-type": media})
        assert (refused.status, kind(refused)) == (415, "unsupported-media-type")
        assert "`content-type: application/json`" in refused.json()["detail"]
        assert len(refused.content) < 600
    for media in (
        "application/json; charset=utf-8",
        "application/vnd.shop+json",
        "APPLICATION/JSON",
        "",
    ):
        assert (await stand.say(method, path, {}, headers={"content-type": media})).status != 415


def named(route: Route) -> list[tuple[str, list[str]]]:
    """The fields and parameters of a route that may have few values."""
    kinds = [route._values, *([route.takes] if route.decoder else [])]
    fields = [(kind, each.encode_name) for kind in kinds for each in structs.fields(kind)]
    found = [(name, choices_at(kind, name)) for kind, name in fields]
    return [(name, choices) for name, choices in found if choices]


async def test_a_value_that_is_none_of_few_is_answered_with_all_of_them(stand: Stand) -> None:
    """For every parameter and every field of every route."""
    seen = set()
    for route in ROUTES:
        for name, choices in named(route):
            seen.add(name)
            path = route.path.replace("{id}", "1").replace("{name}", "x")
            bad: Any = ["zz"] if name in ("allow", "scopes") else "zz"
            if name in route.parameters:
                refused = await stand.say(route.method, path, query={name: "zz"})
            else:
                body = {**example(route.takes, whole=False), name: bad}
                refused = await stand.say(route.method, path, body)
            told = refused.json()["detail"]
            assert told.startswith(f"{name}"), told
            assert told.endswith(f"'zz': give one of {', '.join(choices)}"), told
    assert seen >= {"state", "order", "step", "by", "role", "scopes", "reason", "mode", "outcome"}


class Page(HTMLParser):
    """What a page has that matters to a strict policy and to a reader."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.ids: list[str] = []
        self.links: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "id":
                self.ids.append(value or "")
            if name in ("href", "src"):
                self.links.add(value or "")


async def test_the_page_needs_no_script_no_other_host_and_no_token(stand: Stand) -> None:
    answer = await stand.say("GET", "/docs", token="")
    assert answer.status == 200
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page = Page()
    page.feed(answer.content.decode())
    assert page.tags.isdisjoint({"script", "style", "iframe", "img", "form"})
    assert not any(name == "style" or name.startswith("on") for name in page.attributes)
    assert len(set(page.ids)) == len(page.ids)
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert inner <= set(page.ids)
    assert page.links - {f"#{name}" for name in inner} == {"/docs/style.css", "/v1/openapi.json"}
    assert {f"op-{each['operationId']}" for each in OPERATIONS.values()} <= set(page.ids)
    style = await stand.say("GET", "/docs/style.css", token="")
    assert (style.status, style.headers["content-type"]) == (200, "text/css")
    assert not re.search(rb"url\(|@import|https?:", style.content)


async def test_head_is_answered_with_the_same_head_and_no_body(stand: Stand) -> None:
    for path in ("/docs", "/v1/openapi.json", "/v1/queues", "/v1/stats", "/metrics", "/healthz"):
        whole = await stand.say("GET", path)
        head = await stand.say("HEAD", path)
        assert (head.status, head.content) == (200, b"")
        assert head.headers["content-type"] == whole.headers["content-type"]
        assert "content-length" in head.headers


async def test_a_scope_that_is_missing_is_named_as_people_write_it(stand: Stand) -> None:
    token = (await stand.road.tokens.make("x", scopes=(Scope.send,))).secret
    refused = await stand.say("GET", "/v1/queues", token=token)
    assert (refused.status, kind(refused)) == (403, "forbidden")
    assert refused.json()["detail"] == "this needs a token with the scope read; yours has: send"
