"""The description of the API as a page: HTML without scripts, under a strict CSP."""

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Any, Final

import msgspec

from postroad.api.openapi import REFERENCE, Json
from postroad.model.phrases import PHRASES

STYLE_PATH: Final = "/docs/style.css"
STYLE: Final = "docs_page.css"
HEADERS: Final = {
    "content-security-policy": "default-src 'none'; style-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
SCHEMAS: Final = REFERENCE.format(name="")
BOUNDS: Final = {
    "minimum": "≥ {}",
    "maximum": "≤ {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "{}",
}


def style() -> bytes:
    """The page's style sheet."""
    return files("postroad.api").joinpath(STYLE).read_bytes()


def page(told: Json) -> bytes:
    """The page of an OpenAPI description."""
    groups: dict[str, list[str]] = {}
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            shown = _operation(method, path, operation)
            groups.setdefault(operation["tags"][0], []).append(shown)
    schemas = told["components"]["schemas"]
    info = told["info"]
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<title>{escape(info["title"])} API</title>\n<link rel="stylesheet" href="{STYLE_PATH}">',
        f"</head>\n<body>\n<header><h1>{escape(info['title'])} API</h1>",
        f"<p>{escape(info['description'])} The same for programs:",
        '<a href="/v1/openapi.json">openapi.json</a>.</p></header>',
        _contents([*groups, "types"]),
        "<main>",
        *(
            f'<section id="{escape(name)}"><h2>{escape(name)}</h2>{"".join(shown)}</section>'
            for name, shown in groups.items()
        ),
        '<section id="types"><h2>types</h2>',
        *(_schema(name, schema) for name, schema in sorted(schemas.items())),
        "</section>\n</main>\n</body>\n</html>\n",
    ]
    return "\n".join(parts).encode()


def _contents(names: list[str]) -> str:
    links = "".join(f'<li><a href="#{escape(name)}">{escape(name)}</a></li>' for name in names)
    return f'<nav aria-label="Contents"><ul>{links}</ul></nav>'


def _operation(method: str, path: str, operation: Json) -> str:
    name = escape(operation["operationId"])
    needs = "" if operation.get("security") == [] else '<p class="needs">Needs a token.</p>'
    parts = [
        f'<details id="op-{name}"><summary><code class="{method}">{method.upper()}</code> ',
        f"<code>{escape(path)}</code> <span>{_words(operation['summary'])}</span></summary>",
        f"<p>{_words(operation['description'])}</p>{needs}",
    ]
    if parameters := operation.get("parameters"):
        rows = [
            (each["name"], each["in"], _type(each["schema"]), _words(each["description"]))
            for each in parameters
        ]
        parts.append(_table(("parameter", "in", "type", "meaning"), rows))
    if body := operation.get("requestBody"):
        parts.append(f"<h3>Request</h3><p>{_words(body['description'])}</p>")
        parts += _contents_of(body["content"])
    parts.append("<h3>Answers</h3>")
    good = [(status, told) for status, told in operation["responses"].items() if status < "400"]
    for status, told in good:
        parts.append(f"<p><code>{status}</code> {escape(told['description'])}</p>")
        parts += _contents_of(told.get("content", {}))
    bad = ", ".join(
        f"<code>{status}</code> {PHRASES[int(status)]}"
        for status in operation["responses"]
        if status >= "400"
    )
    parts.append(f'<p>Problems: {bad}. See <a href="#type-Problem">Problem</a>.</p></details>')
    return "".join(parts)


def _contents_of(content: Json) -> Iterator[str]:
    for media, told in content.items():
        yield f"<p><code>{escape(media)}</code>: {_type(told['schema'])}</p>"
        if "example" in told:
            yield f"<pre><code>{escape(_pretty(told['example']))}</code></pre>"


def _pretty(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode()


def _schema(name: str, schema: Json) -> str:
    words = _words(schema.get("description", ""))
    # Inside, so that browsers open it for a link.
    head = f'<details><summary><code>{escape(name)}</code></summary><p id="type-{escape(name)}">'
    fields = schema.get("properties")
    if not fields:
        return f"{head}{words}</p><p>{_type(schema)}</p></details>"
    required = schema.get("required", ())
    rows = [
        (each, _type(kind), "yes" if each in required else escape(_default(kind)))
        for each, kind in fields.items()
    ]
    return f"{head}{words}</p>{_table(('field', 'type', 'needed'), rows)}</details>"


def _default(schema: Json) -> str:
    return f"else {msgspec.json.encode(schema['default']).decode()}" if "default" in schema else ""


def _table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table; the first cell of a row is a name, the others are HTML."""
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(
        f"<tr><td><code>{escape(first)}</code></td>{''.join(f'<td>{each}</td>' for each in rest)}"
        "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _type(schema: Json) -> str:
    """A type as HTML: a link to a named one."""
    if "$ref" in schema:
        name = escape(schema["$ref"].removeprefix(SCHEMAS))
        return f'<a href="#type-{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(f"<code>{escape(str(each))}</code>" for each in schema["enum"])
    match schema.get("type"):
        case "array" if "items" in schema and schema["items"] is not False:
            return f"list of {_type(schema['items'])}"
        case "object" if isinstance(inner := schema.get("additionalProperties"), dict):
            return f"object of {_type(inner)}"
        case str(kind):
            return _bounded(kind, schema)
        case _:
            return "any JSON"


def _bounded(kind: str, schema: Json) -> str:
    words = [kind if "format" not in schema else f"{kind} ({schema['format']})"]
    words += [text.format(schema[name]) for name, text in BOUNDS.items() if name in schema]
    return escape(", ".join(words))


def _words(text: str) -> str:
    """A text whose `names` are set as code."""
    parts = text.split("`")
    return "".join(
        f"<code>{escape(part)}</code>" if count % 2 else escape(part)
        for count, part in enumerate(parts)
    )
