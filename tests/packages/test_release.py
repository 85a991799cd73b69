"""`make release`: wheel, sdist, JavaScript package, bill of materials, OpenAPI file, sums; the same
bytes each time."""

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import cyclonedx.schema
import jsonschema_rs
import pytest
from trove_classifiers import classifiers

from scripts import release
from scripts.sbom import bill, pins, shipped
from tests.api.stand import Stand
from tests.packages.copies import committed, git
from tests.webhook_requests.node import programs

EPOCH = 1_700_000_000


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _ = release.build(folder, EPOCH)
    return folder


def only(folder: Path, pattern: str) -> Path:
    (found,) = folder.glob(pattern)
    return found


def metadata(dist: Path) -> Message:
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        return message_from_bytes(wheel.read(name))


@pytest.mark.wide
def test_two_builds_are_the_same_bytes(dist: Path, tmp_path: Path) -> None:
    again = release.build(tmp_path, EPOCH)
    assert [file.name for file in again] == [
        *sorted({f.name for f in dist.iterdir()} - {release.SUMS}),
        release.SUMS,
    ]
    assert {f.name: f.read_bytes() for f in again} == {
        f.name: f.read_bytes() for f in dist.iterdir()
    }


@pytest.mark.wide
def test_an_archive_of_the_commit_gives_the_same_bytes_elsewhere(
    dist: Path, tmp_path: Path
) -> None:
    """In another folder, where others may read nothing and clocks show another time, without git."""
    archive = git(committed(tmp_path / "copy"), "archive", "HEAD")
    place = tmp_path / "elsewhere"
    place.mkdir(mode=0o700)
    environ = {
        **os.environ, "TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "7",
        "SOURCE_DATE_EPOCH": str(EPOCH), "PYTHONPATH": str(place / "src"),
    }  # fmt: skip
    line = f"umask 077 && tar -x && '{sys.executable}' scripts/release.py"
    subprocess.run(("sh", "-c", line), cwd=place, env=environ, input=archive, check=True)
    made = {file.name: file.read_bytes() for file in (place / "dist").iterdir()}
    assert {
        name for name, content in made.items() if content != (dist / name).read_bytes()
    } == set()
    assert made.keys() == {file.name for file in dist.iterdir()}


def test_the_sums_are_those_of_the_files(dist: Path) -> None:
    lines = (dist / release.SUMS).read_text().splitlines()
    assert len(lines) == 5
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest


def test_the_wheel_has_every_file_of_the_source_and_no_other(dist: Path) -> None:
    source = release.ROOT / "src"
    there = {
        str(file.relative_to(source))
        for file in source.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with zipfile.ZipFile(only(dist, "*.whl")) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert packed == there
    assert {Path(name).suffix for name in there} >= {
        ".py",
        ".sql",
        ".html",
        ".css",
        ".js",
        ".toml",
        ".typed",
    }


def test_the_sdist_has_what_it_takes_to_test_it(dist: Path) -> None:
    with tarfile.open(only(dist, "*.tar.gz")) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {
        "pyproject.toml",
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "Makefile",
        "requirements/dev.lock",
        "scripts/venv.py",
        "tests/conftest.py",
        "docs/public/0.1.0.txt",
        "examples/django_shop/manage.py",
    } <= names
    assert not [name for name in names if name.endswith((".pyc", ".db"))]


def test_the_metadata_says_what_is_tested(dist: Path) -> None:
    said = metadata(dist)
    named = said.get_all("Classifier") or []
    assert set(named) <= classifiers
    pythons = [each.rpartition(" ")[2] for each in named if re.search(r"Python :: 3\.\d+$", each)]
    assert said["Requires-Python"] == f">={pythons[0]}"
    dev = (release.ROOT / "requirements" / "dev.lock").read_text()
    new = (release.ROOT / "requirements" / "django6.lock").read_text()
    assert ("django==5.2." in dev, "django==6.1." in new) == (True, True)
    urls = {each.partition(",")[0] for each in said.get_all("Project-URL") or []}
    assert urls == {"Homepage", "Documentation", "Changelog", "Source"}
    assert {"all", "server", "postgres", "rabbitmq", "mail"} <= {
        *(said.get_all("Provides-Extra") or [])
    }


def test_the_pages_on_package_indexes_have_no_link_that_leads_nowhere_there(dist: Path) -> None:
    """Nor a picture: an index knows nothing of the files beside a README."""
    page = str(metadata(dist).get_payload())
    with tarfile.open(only(dist, "postroad-js-*.tgz")) as package:
        readme = package.extractfile("package/README.md")
        assert readme is not None
        other = readme.read().decode()
    assert (page[:11], other[:10]) == ("# Postroad\n", "# Postroad")
    for text in (page, other):
        links = re.findall(r"\]\(([^)\s]+)\)|\bsrc=\"([^\"]+)", text)
        here = [each for pair in links for each in pair if each and "://" not in each]
        assert [each for each in here if not each.startswith("#")] == []


def test_the_pages_on_package_indexes_show_pictures_and_the_files_of_their_release(
    dist: Path,
) -> None:
    """The page around a picture is no picture, and tomorrow's file is not what this release does."""
    page = str(metadata(dist).get_payload())
    version = release.project()["version"]
    place = release.pyproject()["tool"]["postroad"]["index-page"]
    assert all("v{version}/{path}" in address for address in place.values())
    assert place["picture"] != place["file"]
    picture = place["picture"].format(version=version, path="docs/img/overview.png")
    assert f"]({picture})" in page
    assert f"]({place['file'].format(version=version, path='docs/promises.md')})" in page
    with tarfile.open(only(dist, "postroad-js-*.tgz")) as package:
        other = package.extractfile("package/README.md")
        assert other is not None
        guide = place["file"].format(version=version, path="docs/guide/http.md")
        assert f"]({guide})" in other.read().decode()


def test_the_bill_of_materials_is_what_the_lock_brings_to_users(dist: Path) -> None:
    found = json.loads(only(dist, "*.cdx.json").read_text())
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    scopes = {each["name"]: each["scope"] for each in found["components"]}
    # What the build alone needs is not shipped; what core needs is told from what an extra brings.
    assert "hatchling" not in scopes
    assert "pluggy" not in scopes
    assert {scopes[name] for name in ("apsw", "click", "cffi", "pycparser")} == {"required"}
    assert {scopes[name] for name in ("asyncpg", "rich", "mdurl", "uvloop")} == {"optional"}
    refs = {each["bom-ref"] for each in found["components"]} | {
        found["metadata"]["component"]["bom-ref"]
    }
    assert {each["ref"] for each in found["dependencies"]} == refs
    assert {on for each in found["dependencies"] for on in each["dependsOn"]} < refs
    every = [
        pin for pin in pins((release.ROOT / "requirements" / "run.lock").read_text()) if pin.hashes
    ]
    assert len(every) > len(shipped(every)) == len(scopes)


def test_a_library_that_only_a_library_needs_is_found() -> None:
    lock = (
        "a==1 \\\n    --hash=sha256:" + "0" * 64 + "\n    # via postroad (pyproject.toml)\n"
        "b==2 \\\n    --hash=sha256:" + "1" * 64 + "\n    # via\n    #   a\n    #   c\n"
        "c==3 \\\n    --hash=sha256:"
        + "2" * 64
        + "\n    # via postroad (pyproject.toml::build-system.requires)\n"
    )
    made = bill(lock, "9", {"a"}, 0)
    assert [(each["name"], each["scope"]) for each in made["components"]] == [
        ("a", "required"),
        ("b", "required"),
    ]
    assert made["serialNumber"] != bill(lock.replace("==2", "==3"), "9", {"a"}, 0)["serialNumber"]


def test_the_openapi_file_is_the_one_that_a_server_answers_with(dist: Path, tmp_path: Path) -> None:
    async def answered() -> Any:
        async with Stand(tmp_path) as stand:
            return (await stand.say("GET", "/v1/openapi.json", token="")).json()

    found = json.loads(only(dist, "*.openapi.json").read_text())
    assert "/v1/messages" in found["paths"]
    assert found == asyncio.run(answered())


def faults_in(made: Any) -> list[str]:
    """What the schema of CycloneDX 1.6 says against a bill of materials."""
    place = Path(str(cyclonedx.schema.__file__)).parent / "_res"
    names = [f"{name}.SNAPSHOT.schema.json" for name in ("bom-1.6", "spdx", "jsf-0.82")]
    schemas = {name: json.loads((place / name).read_text()) for name in names}
    resources = [(f"http://cyclonedx.org/schema/{name}", each) for name, each in schemas.items()]
    registry = jsonschema_rs.Registry(resources)
    checker = jsonschema_rs.validator_for(schemas[names[0]], registry=registry)
    return [each.message for each in checker.iter_errors(made)]


def test_the_bill_of_materials_is_one_by_the_schema_of_cyclonedx(dist: Path) -> None:
    found = json.loads(only(dist, "*.cdx.json").read_text())
    assert faults_in(found) == []
    found["components"][0]["type"] = "a part"
    del found["components"][1]["name"]
    assert len(faults_in(found)) == 2


def test_the_javascript_package_is_installed_from_its_file_and_used(
    dist: Path, tmp_path: Path
) -> None:
    """In an empty folder, by npm, which asks nobody since there are no dependencies."""
    node, npm = programs()
    said = f"postroad-js-{release.project()['version']}.tgz"
    readme = (release.ROOT / "clients" / "js" / "README.md").read_text()
    assert f"npm install ./dist/{said}\n" in readme
    (tmp_path / "package.json").write_text("{}")
    words = (npm, "install", "--offline", "--no-audit", "--no-fund", str(only(dist, said)))
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "node_modules" / "postroad"
    source = release.ROOT / "clients" / "js"
    there = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    own = {f"src/{file.name}" for file in (source / "src").iterdir()}
    assert there == {*own, "index.d.ts", "package.json", "README.md", "LICENSE"}
    code = 'import * as all from "postroad"; console.log(Object.keys(all).sort().join(" "))'
    used = subprocess.run(
        (node, "--input-type=module", "-e", code),
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert {"Hub", "Postroad", "verify"} <= set(used.stdout.split()), used.stderr


def test_every_file_that_names_the_release_names_this_one() -> None:
    version = release.project()["version"]
    package = json.loads((release.ROOT / "clients" / "js" / "package.json").read_text())
    image = re.search(
        r"^  image: postroad:(\S+)$",
        (release.ROOT / "deploy" / "compose.yaml").read_text(),
        re.MULTILINE,
    )
    assert image
    assert (package["version"], image[1]) == (version, version)


def test_what_stands_in_the_way_of_publishing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release, "git", lambda *_words: " M README.md")
    monkeypatch.setattr(release, "public_face", list)
    urls = {"Homepage": "https://postroad.example/"}
    about = {
        "project": {"version": "99.0", "urls": urls},
        "tool": {"postroad": {"index-page": {"picture": "https://postroad.example/raw/{path}"}}},
    }
    monkeypatch.setattr(release, "pyproject", lambda: about)
    found = release.obstacles()
    assert found[:4] == [
        "there are changes that are not committed",
        "CHANGELOG.md has no section [99.0]",
        "[project.urls] in pyproject.toml are placeholders",
        "[tool.postroad.index-page] in pyproject.toml has placeholders",
    ]
    assert "http POST /v1/messages was public, and is gone" in found
