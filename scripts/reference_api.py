"""The pages of docs/reference/ about HTTP and Python, for scripts/reference.py."""

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import postroad
from postroad import sync, testing
from postroad.api.app import ROUTES
from postroad.api.openapi import document
from postroad.app import Postroad
from postroad.verbs.grouping import VerbGroup

Json = dict[str, Any]
VALUES = {"provided": "The default of a handler's parameter that senders do not give."}
"""What is no class or function, and has no words of its own."""


def http(note: str) -> str:
    """Every route, with what it takes and gives."""
    described = document(ROUTES)
    groups: dict[str, list[str]] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            lines = groups.setdefault(operation["tags"][0], [])
            lines += _operation(f"{method.upper()} {path}", operation)
    lines = [
        "# HTTP routes",
        note,
        "",
        "The same as a server answers at `GET /v1/openapi.json`, which generators of clients read, and at `/docs`. How requests are authorized,",
        "errors and pages of lists: [the guide](../guide/http.md). Each description names the scope that a token needs.",
    ]
    for name, text in sorted(groups.items()):
        lines += ["", f"## {name}", *text]
    lines += ["", "## Types"]
    for name, schema in sorted(described["components"]["schemas"].items()):
        lines += ["", f"### {name} (type)", "", *_type(schema)]
    return "\n".join(lines) + "\n"


def _operation(title: str, operation: Json) -> Iterator[str]:
    yield from ("", f"### `{title}`", "", _line(operation["description"]))
    if parameters := operation.get("parameters"):
        yield from ("", "| parameter | in | type | meaning |", "| --- | --- | --- | --- |")
        for each in parameters:
            text = _line(each.get("description", "–"))
            yield f"| `{each['name']}` | {each['in']} | {_kind(each['schema'])} | {text} |"
    if body := operation.get("requestBody"):
        yield from ("", f"Takes {_contents(body)}.")
        if shown := _example(body):
            yield from ("", "```json", shown, "```")
    answers = [
        f"{status} {_contents(answer)}".rstrip()
        for status, answer in operation["responses"].items()
        if status.startswith("2")
    ]
    yield from ("", f"Gives {'; '.join(answers) or 'nothing'}.")


def _contents(described: Json) -> str:
    found = [
        f"{_kind(content['schema'])} (`{media}`)" if "json" in media else f"`{media}`"
        for media, content in described.get("content", {}).items()
    ]
    return " or ".join(found)


def _example(body: Json) -> str:
    shown = [each["example"] for each in body["content"].values() if "example" in each]
    return json.dumps(shown[0], indent=2, ensure_ascii=False) if shown else ""


def _kind(schema: Json) -> str:
    """A type in a word or two, with a link where it has a name."""
    if name := schema.get("$ref"):
        word = name.rpartition("/")[2]
        return f"[{word}](#{word.lower()}-type)"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(map(_kind, choices)))
    if values := schema.get("enum"):
        return ", ".join(f"`{json.dumps(value, ensure_ascii=False)}`" for value in values)
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items') or {})}"
    return str(schema.get("type", "any JSON"))


def _type(schema: Json) -> Iterator[str]:
    if text := schema.get("description"):
        yield from (_line(text), "")
    fields = schema.get("properties")
    if not fields:
        yield f"One of: {_kind(schema)}." if "enum" in schema else f"{_kind(schema)}."
        return
    yield from ("| field | type | needed |", "| --- | --- | --- |")
    for name, each in fields.items():
        needed = "yes" if name in schema.get("required", ()) else "–"
        yield f"| `{name}` | {_kind(each)} | {needed} |"


def python(note: str) -> str:
    """Every public name, with its signature and what it says of itself."""
    lines = [
        "# Python names",
        note,
        "",
        "What can be imported from `postroad`, `postroad.sync` and `postroad.testing`, and the verbs of a road. Errors have [a page of their own](errors.md),",
        "options of handlers and sends are explained in [jobs](../guide/jobs.md). `postroad.sync` has the same verbs without `await`.",
        "",
        "## postroad.Postroad",
        "",
        _words(Postroad),
        *_verbs("road", Postroad),
    ]
    for name, group in vars(Postroad).items():
        if isinstance(group, VerbGroup):
            lines += ["", f"## road.{name}", "", _words(group.kind)]
            lines += _verbs(f"road.{name}", group.kind)
    for module in (postroad, sync, testing):
        lines += ["", f"## {module.__name__}", "", "| name | meaning |", "| --- | --- |"]
        for name in module.__all__:
            lines.append(f"| `{name}` | {VALUES.get(name) or _words(getattr(module, name))} |")
    return "\n".join(lines) + "\n"


def _verbs(where: str, face: type) -> Iterator[str]:
    for name, verb in inspect.getmembers(face, callable):
        if name.startswith("_") or not inspect.isfunction(verb):
            continue
        waits = "await " if inspect.iscoroutinefunction(verb) else ""
        yield from (
            "",
            f"### {where}.{name}",
            "",
            "```text",
            f"{waits}{where}.{name}{_signature(verb)}",
        )
        yield from ("```", "", _words(verb))


def _signature(verb: Any) -> str:
    found = inspect.signature(verb)
    shown = [_parameter(each) for each in found.parameters.values() if each.name != "self"]
    answer = _plain(found.return_annotation)
    one_line = f"({', '.join(shown)}) -> {answer}"
    return (
        one_line if len(one_line) < 100 else "(\n    " + ",\n    ".join(shown) + f",\n) -> {answer}"
    )


def _parameter(each: inspect.Parameter) -> str:
    star = "*" if each.kind is each.VAR_POSITIONAL else ""
    star = "**" if each.kind is each.VAR_KEYWORD else star
    default = "" if each.default is each.empty else f" = {_default(each.default)}"
    return f"{star}{each.name}: {_plain(each.annotation)}{default}"


def _default(value: Any) -> str:
    return "…" if re.search(r" at 0x|<", repr(value)) else repr(value)


def _plain(kind: Any) -> str:
    """A type as one would write it, without the modules that it lies in."""
    if get_args(kind) or not isinstance(kind, type):
        return re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", str(kind)).replace("NoneType", "None")
    return "None" if kind is type(None) else kind.__name__


def _words(each: Any) -> str:
    """What it says of itself, but for programs that it shows."""
    parts = (inspect.getdoc(each) or "").split("\n\n") if callable(each) else []
    return _line(" ".join(part for part in parts if not part.startswith("    ")))


def _line(text: str) -> str:
    """One line of Markdown; what looks like HTML outside of code is text."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    return "`".join(each if n % 2 else each.replace("<", "&lt;") for n, each in enumerate(parts))
