"""Every block of code in the papers is run, or at least what its language can read.

Blocks of Python are run by tests/demo/test_readme.py and the tests of the guides, but for fragments
(```` ```python fragment ````), whose calls of the road are compared with the road.
"""

import ast
import inspect
import json
import re
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

import postroad
from postroad import Postroad, Settings, config
from postroad.api.login_file import read_login_file
from postroad.api.unsubscribe_page import read_words
from tests.site.links import papers
from tests.webhook_requests.node import programs

ROOT = Path(__file__).parents[2]
PAPERS = papers(ROOT)
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?:^\n|\A)((?: {4}[^\n]*\n(?:\n(?= {4}))?)+)", re.MULTILINE)
AS_PYTHON = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST
KINDS = {
    *("python", "python fragment", "js", "json", "toml", "sh", "console"),
    *("text", "csv", "html", "frames", "mermaid", "ini", "dockerfile"),
}
"""The second line is for people: nothing reads it, or a test of its own does."""


def blocks(*kinds: str) -> Iterator[tuple[str, str]]:
    """The papers' fenced blocks of these kinds, each with where it is."""
    for paper in PAPERS:
        for kind, text in FENCE.findall(paper.read_text()):
            if kind in kinds:
                yield str(paper.relative_to(ROOT)), text


def parsed(code: str) -> ast.Module | None:
    try:
        tree = compile(code.replace("…", "..."), "a block", "exec", AS_PYTHON)
    except SyntaxError:
        return None
    return tree if isinstance(tree, ast.Module) else None


def unfenced(text: str) -> list[str]:
    """The first lines of indented blocks that are Python: no test would find them."""
    found = [textwrap.dedent(block) for block in INDENTED.findall(FENCE.sub("", text))]
    return [each.partition("\n")[0] for each in found if (tree := parsed(each)) and tree.body]


def strangers(code: str, road: Postroad) -> list[str]:
    """Calls of a road's verbs, or of exported classes, that there are not, or that do not fit."""
    tree = parsed(code)
    if tree is None:
        return [f"is not Python: {code[:80]}"]
    breaches = []
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = ast.unparse(call.func)
        words = name.split(".")
        found: Any = road if words[0] == "road" else postroad
        if found is postroad and (len(words) > 1 or name not in postroad.__all__):
            continue
        try:
            for word in words[found is road :]:
                found = getattr(found, word)
            given = [each.arg for each in call.keywords if each.arg]
            bind(inspect.signature(found), call.args, given)
        except (AttributeError, TypeError) as error:
            breaches.append(f"{name}: {error}")
    return breaches


def bind(signature: inspect.Signature, values: list[ast.expr], names: list[str]) -> None:
    """TypeError when a function cannot be called so. `**options: Unpack[…]` has a list of names."""
    _ = signature.bind(*values, **dict.fromkeys(names))
    for each in signature.parameters.values():
        if each.kind is each.VAR_KEYWORD and (options := get_args(each.annotation)):
            known = {*signature.parameters, *options[0].__annotations__}
            if missing := {*names} - known:
                raise TypeError(f"there is no {', '.join(sorted(missing))}")


def test_every_block_says_what_it_is() -> None:
    unknown = [
        (paper.name, kind)
        for paper in PAPERS
        for kind, _ in FENCE.findall(paper.read_text())
        if kind not in KINDS and not kind.startswith("{")
    ]
    assert unknown == []


def test_no_python_hides_in_an_indented_block() -> None:
    found = {paper.name: lines for paper in PAPERS if (lines := unfenced(paper.read_text()))}
    assert found == {}
    shown = "So:\n\n    await road.send(1)\n\n    @a\n    def b(): ...\n\nBut:\n\n    make docs\n"
    assert unfenced(shown) == ["await road.send(1)"]


def test_fragments_call_what_the_road_has(tmp_path: Path) -> None:
    road = Postroad(f"sqlite:///{tmp_path}/road.db")
    found = [
        f"{paper}: {each}"
        for paper, code in blocks("python fragment")
        for each in strangers(code, road)
    ]
    assert found == []
    assert len(list(blocks("python fragment"))) > 20
    bad = "await road.send('q', 1, soon=True)\nroad.sent(1)\nWebhookRules(deny=(), proxi='')\n"
    assert {each.partition(":")[0] for each in strangers(bad, road)} == {
        *("road.send", "road.sent", "WebhookRules"),
    }
    assert strangers("await road.send(", road) != []


def test_json_is_json() -> None:
    assert [json.loads(text) for _, text in blocks("json")]


def loads_as_settings(file: Path) -> None:
    _ = config.load({}, {}, file, Settings())


def loads_as_login_file(file: Path) -> None:
    assert read_login_file(str(file)).members


def loads_as_words(file: Path) -> None:
    assert read_words(str(file)).language != "en"


READERS: dict[str, Callable[[Path], None]] = {
    "[openid]": loads_as_login_file,
    'language = "de"': loads_as_words,
}
"""Files that are no settings, by the first line that the papers show of them."""


def test_toml_is_a_file_that_a_server_reads(tmp_path: Path) -> None:
    read = []
    for paper, text in blocks("toml"):
        file = tmp_path / "shown.toml"
        file.write_text(text)
        reader = READERS.get(text.partition("\n")[0], loads_as_settings)
        try:
            reader(file)
        except Exception as error:
            error.add_note(paper)
            raise
        read.append(reader)
    assert {*READERS.values()} < {*read}


def test_javascript_is_read_by_node(tmp_path: Path) -> None:
    shown = list(blocks("js"))
    assert shown
    for number, (paper, text) in enumerate(shown):
        file = tmp_path / f"{number}.mjs"
        file.write_text(text)
        done = subprocess.run(
            (programs()[0], "--check", str(file)), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{paper}: {done.stderr}"


def typed(text: str) -> str:
    """What a conversation with a shell types."""
    return "\n".join(re.findall(r"^\$ (.*)$", text, re.MULTILINE)) + "\n"


def test_a_shell_reads_what_is_typed_and_make_has_its_targets() -> None:
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("needs bash")
    scripts: dict[str, str] = {}
    for paper, text in [*blocks("sh"), *((p, typed(t)) for p, t in blocks("console"))]:
        scripts[paper] = scripts.get(paper, "") + text
    for paper, script in scripts.items():
        done = subprocess.run(
            (shell, "-n"), input=script, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{paper}: {done.stderr}"
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAPERS:
        made = re.findall(r"^(?: {4}|\$ )make ([a-z][\w-]*)", page.read_text(), re.MULTILINE)
        assert {*made} <= targets, page.name
