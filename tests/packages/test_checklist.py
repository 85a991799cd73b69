"""docs/releasing.md, walked: steps 2 to 4 are taken in a copy of the repository."""

import hashlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from postroad.stores.postgres import migration as postgres
from postroad.stores.sqlite import migration as sqlite
from scripts import release
from tests.packages.copies import committed

ROOT = release.ROOT
PAGE = ROOT / "docs" / "releasing.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOW, NEXT = release.project()["version"], "999.0.0"
PYTHON = ".venv/bin/python"


def steps() -> list[list[str]]:
    """What is typed, by step of the page."""
    parts = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return [
        [
            line.replace("VERSION", NEXT)
            for block in BLOCK.findall(part)
            for line in block.splitlines()
        ]
        for part in parts
    ]


def made_by(line: str) -> list[str]:
    """What `make` would run, without running it."""
    dry = subprocess.run(
        ("make", "--no-print-directory", "-n", *shlex.split(line)[1:]),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert dry.returncode == 0, dry.stderr
    return dry.stdout.splitlines()


def say_the_next_version(copy: Path) -> None:
    """Step 2, as its list says."""
    for name, old, new in (
        ("pyproject.toml", f'version = "{NOW}"', f'version = "{NEXT}"'),
        ("clients/js/package.json", f'"version": "{NOW}"', f'"version": "{NEXT}"'),
        ("deploy/compose.yaml", f"postroad:{NOW}", f"postroad:{NEXT}"),
        ("CHANGELOG.md", "## [Unreleased]", f"## [Unreleased]\n\n## [{NEXT}] - 2030-01-01"),
    ):
        text = (copy / name).read_text()
        assert old in text, (name, old)
        (copy / name).write_text(text.replace(old, new))
    about = copy / "pyproject.toml"
    about.write_text(about.read_text().replace("https://postroad.example/", "https://code.test/"))


def types(copy: Path, line: str) -> str:
    """Type a line of the page in the copy. Its environment is ours, and nothing is signed: there is no key."""
    if line.startswith("make "):
        line = made_by(line)[-1].removeprefix("@")
    line = line.replace(PYTHON, sys.executable).replace("--sign", "--annotate")
    environ = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run(
        ("sh", "-c", line), cwd=copy, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.wide
def test_a_release_is_made_by_the_checklist(tmp_path: Path) -> None:
    """What the next release is compared with is in the tag, nothing stands in the way, and the sums are right."""
    copy = committed(tmp_path / "copy")
    _, says, keeps, files, *_ = steps()
    assert says == []
    say_the_next_version(copy)
    kept = {
        f"docs/public/{NEXT}.txt",
        f"tests/contract/releases/sqlite/{sqlite.VERSION}.sql",
        f"tests/contract/releases/postgres/{postgres.VERSION}.sql",
    }
    told = [types(copy, line) for line in (*keeps, *files)]
    assert "not to be published yet" not in "".join(told)
    assert "OK" in told[-1]
    tagged = types(copy, f"git ls-tree -r --name-only v{NEXT}").splitlines()
    assert kept <= set(tagged)
    assert types(copy, "git status --porcelain") == ""
    assert types(
        copy, f"{PYTHON} -m pytest -q -p no:cacheprovider tests/packages/test_public_face.py"
    )
    assert f"v{NEXT}" in types(copy, "git tag")
    assert (
        tomllib.loads(types(copy, f"git show v{NEXT}:pyproject.toml"))["project"]["version"] == NEXT
    )
    sums = (copy / "dist" / release.SUMS).read_text().split()
    wheel = copy / "dist" / f"postroad-{NEXT}-py3-none-any.whl"
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in sums


def test_every_step_can_be_taken() -> None:
    """Every command is one that the project has, and the walk knows all that have an effect."""
    typed = [line for step in steps() for line in step]
    assert "make release ARGS=--publish" in typed
    for line in typed:
        if line.startswith("make "):
            assert made_by(line), line
        elif line.startswith(PYTHON):
            assert (ROOT / shlex.split(line)[1]).is_file(), line
    sums = f"(cd dist && sha256sum --check {release.SUMS})"
    known = ("make ", "git ", f"{PYTHON} ", sums, f"pipx run postroad=={NEXT} demo")
    assert [line for line in typed if not line.startswith(known)] == []


def test_under_make_itself_a_command_is_still_the_last_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAKELEVEL", "1")
    assert made_by("make release")[-1].endswith("scripts/release.py ")


def test_a_target_that_is_not_there_is_noticed() -> None:
    with pytest.raises(AssertionError):
        made_by("make publish-everything")
