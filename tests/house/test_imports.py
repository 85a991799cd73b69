"""Rooms and doors: the import-linter contracts of pyproject.toml."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint_imports(source: Path) -> tuple[int, str]:
    """Checks the package under `source` against the contracts."""
    linter = Path(sys.executable).with_name("lint-imports")
    command = (linter, "--no-cache", "--no-logo", "--config", ROOT / "pyproject.toml")
    # PYTHONPATH comes before the installed package, and the working folder must not hold one.
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(
        command, cwd=source, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def make_rooms(source: Path, modules: dict[str, str]) -> None:
    """Writes a postroad package that holds just these modules, given as `room/file.py`: code."""
    for name, code in {"__init__.py": "", **modules}.items():
        path = source / "postroad" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(code)


def test_rooms_import_one_way() -> None:
    code, said = lint_imports(ROOT / "src")
    assert code == 0, said


LEGAL = {
    "model/entities.py": "",
    "ports/clock.py": "import postroad.model.entities",
    "config.py": "import postroad.model.entities",
    "hub/client.py": "import postroad.ports.clock",
    "transports/hub.py": "import postroad.hub.client",
    "app.py": "import postroad.config, postroad.transports.hub",
    "api/routes.py": "import postroad.app, postroad.config",
    "cli/main.py": "import postroad.api.routes",
    "testing/rehearsal.py": "import postroad.app, postroad.config",
}


def test_the_drawing_itself_is_legal(tmp_path: Path) -> None:
    make_rooms(tmp_path, LEGAL)
    code, said = lint_imports(tmp_path)
    assert code == 0, said


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("model/entities.py", "postroad.ports.clock"),
        ("ports/clock.py", "postroad.config"),
        ("ports/clock.py", "postroad.app"),
        ("engine/lane_worker.py", "postroad.hub.client"),
        ("transports/webhook.py", "postroad.hub.client"),
        ("app.py", "postroad.testing.rehearsal"),
        ("app.py", "postroad.api.routes"),
        ("api/serve.py", "postroad.cli.main"),
        ("dashboard/pages.py", "postroad.config"),
        ("demo.py", "postroad.config"),
    ],
)
def test_a_door_that_should_be_shut_is_named(tmp_path: Path, module: str, imported: str) -> None:
    make_rooms(tmp_path, LEGAL | {module: f"import {imported}"})
    code, said = lint_imports(tmp_path)
    importer = "postroad." + module.removesuffix(".py").replace("/", ".")
    assert code == 1, said
    assert f"{importer} -> {imported}" in said


def test_a_room_without_a_place_in_the_drawing_is_named(tmp_path: Path) -> None:
    make_rooms(tmp_path, {"attic/box.py": ""})
    code, said = lint_imports(tmp_path)
    assert code == 1, said
    assert "postroad.attic" in said
