"""The public face: what is exported, what docs import, and what `help()` shows."""

import ast
import inspect
import pydoc
import re
from collections import defaultdict
from pathlib import Path

import pytest

import postroad
from postroad import errors, sync, testing
from postroad.app import Postroad
from postroad.verbs.grouping import VerbGroup
from tests.house import tidy

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/guide/*.md"))]
PAGES += sorted(ROOT.glob("docs/reference/*.md"))
EXPORTED = [
    "BasicAuth",
    "Batch",
    "BearerAuth",
    "ClientTls",
    "CredentialSpec",
    "Exponential",
    "HaltRule",
    "HeaderNames",
    "HoldKey",
    "HoldQueue",
    "HubCallbacks",
    "HubClient",
    "KnownHub",
    "Limits",
    "MailSettings",
    "Message",
    "OAuthClient",
    "Postroad",
    "PostroadError",
    "Receipt",
    "Reject",
    "RetryLater",
    "Send",
    "Settings",
    "Signer",
    "Some",
    "Steps",
    "TenantLimits",
    "WebhookRules",
    "chain",
    "provided",
    "public_key",
]
PUBLIC = {
    "postroad": set(postroad.__all__),
    "postroad.sync": set(sync.__all__),
    "postroad.testing": set(testing.__all__),
    "postroad.errors": {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    },
}
CODE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_the_list_of_exported_names_changes_only_on_purpose() -> None:
    assert postroad.__all__ == EXPORTED
    assert dir(postroad) == EXPORTED
    assert set(sync.__all__) <= set(EXPORTED)


def test_type_checkers_and_programs_get_the_same_names() -> None:
    """The imports for type checkers and the table of homes say the same."""
    tree = ast.parse(Path(inspect.getfile(postroad)).read_text())
    shown = {
        (node.module, name.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("postroad.")
        for name in node.names
    }
    homes = {(f"postroad.{m}", name) for m, names in postroad.MODULES.items() for name in names}
    assert shown == homes
    assert sorted(name for _, name in homes) == EXPORTED
    for module, name in homes:
        assert getattr(postroad, name).__module__ == module


def imports(code: str) -> list[tuple[str, str]]:
    """The names that a program imports from us, each with its module."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "postroad":
            found += [(str(node.module), name.name) for name in node.names]
        elif isinstance(node, ast.Import):
            found += [(name.name, "") for name in node.names if name.name.startswith("postroad")]
    return found


def private(code: str) -> list[str]:
    """Imports that reach past the public modules."""
    return [
        f"from {module} import {name}"
        for module, name in imports(code)
        if module not in PUBLIC or (name and name not in PUBLIC[module])
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_programs_in_the_docs_import_public_names_only(page: Path) -> None:
    programs = CODE.findall(page.read_text())
    assert [line for program in programs for line in private(program)] == []


def test_a_private_import_is_found() -> None:
    assert private("from postroad.config import Settings") == [
        "from postroad.config import Settings"
    ]
    assert private("from postroad import Engine") == ["from postroad import Engine"]
    assert private("from postroad import Postroad\nfrom postroad.errors import Conflict") == []
    assert sum(
        len(imports(program)) for page in PAGES for program in CODE.findall(page.read_text())
    )


def groups() -> dict[str, type]:
    return {n: each.kind for n, each in vars(Postroad).items() if isinstance(each, VerbGroup)}


def test_every_public_verb_has_a_docstring_and_typed_arguments() -> None:
    for face in (Postroad, *groups().values()):
        assert face.__doc__
        for name, verb in inspect.getmembers(face, inspect.isfunction):
            if not name.startswith("_"):
                assert verb.__doc__, f"{face.__name__}.{name}"
                signature = inspect.signature(verb)
                untyped = [
                    each.name
                    for each in signature.parameters.values()
                    if each.name != "self" and each.annotation is each.empty
                ]
                assert not untyped, f"{face.__name__}.{name}: {untyped}"
                assert signature.return_annotation is not signature.empty


def test_help_shows_every_verb_and_group() -> None:
    shown = pydoc.plain(pydoc.render_doc(Postroad))
    for verb in ("send", "send_many", "cancel", "pause", "resume", "explain", "run", "handler"):
        # Python 3.13 writes a long signature in several lines.
        assert re.search(rf"\| +(async )?{verb}\([\s|]*self,", shown), verb
    for name, kind in groups().items():
        assert f" |  {name}\n |      {kind.__name__}: " in shown


# Class names

SHARED_NAMES_MAX = 20
"""A word has one meaning; so many may have two."""
SHARED_NAMES = {"Message", "Postroad", "ResultRecorder"}


def shared_names(folder: Path) -> dict[str, list[str]]:
    """Class names that occur more than once, each with its modules."""
    found = defaultdict(list)
    with tidy.trees_kept():
        for module, tree in tidy.modules(folder):
            for node in tidy.classes(tree):
                found[node.name].append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


def test_few_classes_share_a_name_and_those_are_listed() -> None:
    found = shared_names(ROOT / "src" / "postroad")
    assert {name: found[name] for name in found.keys() - SHARED_NAMES} == {}
    assert SHARED_NAMES - found.keys() == set()  # one that is shared no longer leaves the list
    assert len(SHARED_NAMES) <= SHARED_NAMES_MAX


RETIRED = {
    "(Http|Window|Open)?Line": "a connection, a queue or an entry",
    "Ears?": "SignalTrap or NotifyListener",
    "Why|Looking": "Explainer, Inspection",
    "(Relay|Direct|Hub)?Way": "a route or a connection",
    "Doors?": "what it holds, or where it leads",
    "Room": "capacity",
    "Bulk|Crew|Kit|Spot|Stack|Shifter|Stamp|Book": "what it does or holds",
}
"""Names of classes that say something only to us, as patterns, with what to write instead."""


def retired_names(folder: Path) -> list[str]:
    """Classes that have such a name."""
    with tidy.trees_kept():
        return [
            f"{module}: {node.name}: write {better}"
            for module, tree in tidy.modules(folder)
            for node in tidy.classes(tree)
            for name, better in RETIRED.items()
            if re.fullmatch(name, node.name.lstrip("_"))
        ]


def test_no_class_has_a_private_name() -> None:
    assert retired_names(ROOT / "src" / "postroad") == []


def test_a_private_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("class _Line:\n    pass\n\nclass TextLine:\n    pass\n")
    assert retired_names(tmp_path) == ["one.py: _Line: write a connection, a queue or an entry"]


def test_a_shared_name_is_found(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("class Line:\n    pass\n")
    assert shared_names(tmp_path) == {"Line": ["one.py", "two.py"]}
