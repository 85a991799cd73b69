"""Writes dist/: wheel, sdist, JavaScript package, bill of materials, OpenAPI file and SHA256SUMS:
`make release`.

The same commit gives the same bytes. `docs/releasing.md` says what comes before and after.
"""

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.index_page import whole  # noqa: E402
from scripts.public_face import baseline, gone, public_face  # noqa: E402
from scripts.sbom import bill  # noqa: E402

SUMS = "SHA256SUMS"
PLACEHOLDER = ".example/"


def pyproject() -> dict[str, Any]:
    """All that pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def project() -> dict[str, Any]:
    """What pyproject.toml says about the project."""
    found: dict[str, Any] = pyproject()["project"]
    return found


def git(*words: str) -> str:
    program = shutil.which("git") or "git"
    done = subprocess.run((program, *words), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def epoch() -> int:
    """The time that files of a release have: that of the commit, unless SOURCE_DATE_EPOCH says."""
    return int(
        os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct") or 1_577_836_800
    )


def build(folder: Path, time_s: int) -> list[Path]:
    """Write everything into a folder; answers with the files, SHA256SUMS last."""
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(time_s)}
    words = (sys.executable, "-m", "hatchling", "build", "-d", folder)
    subprocess.run(words, cwd=ROOT, env=environ, check=True, stdout=subprocess.DEVNULL)
    about = project()
    stem = f"postroad-{about['version']}"
    core = {re.split(r"[^A-Za-z0-9._-]", each)[0].lower() for each in about["dependencies"]}
    lock = (ROOT / "requirements" / "run.lock").read_text()
    _write(folder / f"{stem}.cdx.json", bill(lock, about["version"], core, time_s))
    _write(folder / f"{stem}.openapi.json", openapi())
    (folder / f"postroad-js-{about['version']}.tgz").write_bytes(javascript(time_s))
    files = sorted(folder.iterdir())
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (folder / SUMS).write_text("".join(lines))
    return [*files, folder / SUMS]


def openapi() -> object:
    """What `GET /v1/openapi.json` answers."""
    from postroad.api.app import ROUTES
    from postroad.api.openapi import document

    return document(ROUTES)


def javascript(time_s: int) -> bytes:
    """The package of clients/js, as `npm install` takes it: what its `files` names, and the licence."""
    home = ROOT / "clients" / "js"
    named = ["package.json", *json.loads((home / "package.json").read_text())["files"]]
    found = {
        str(file.relative_to(home)): file
        for name in named
        for file in (sorted((home / name).rglob("*")) if (home / name).is_dir() else [home / name])
    }
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, file in sorted({**found, "LICENSE": ROOT / "LICENSE"}.items()):
            content = file.read_bytes()
            if name == "README.md":
                paper = content.decode().replace("](../../", "](")
                content = whole(paper, pyproject()).encode()
            entry = tarfile.TarInfo(f"package/{name}")  # of nobody, mode 0644
            entry.size, entry.mtime = len(content), time_s
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(made.getvalue(), mtime=time_s)


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


def obstacles() -> list[str]:
    """What has to be done before the files may be published."""
    whole_file = pyproject()
    about, addresses = whole_file["project"], whole_file["tool"]["postroad"]["index-page"]
    found = []
    if git("status", "--porcelain"):
        found.append("there are changes that are not committed")
    if f"## [{about['version']}]" not in (ROOT / "CHANGELOG.md").read_text():
        found.append(f"CHANGELOG.md has no section [{about['version']}]")
    if any(PLACEHOLDER in url for url in about["urls"].values()):
        found.append("[project.urls] in pyproject.toml are placeholders")
    if any(PLACEHOLDER in url for url in addresses.values()):
        found.append("[tool.postroad.index-page] in pyproject.toml has placeholders")
    found += [f"{name} was public, and is gone" for name in gone(baseline(), public_face())]
    return found


def main() -> int:
    """Build, and say what stands in the way of publishing it."""
    folder = ROOT / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    for file in build(folder, epoch()):
        sys.stdout.write(f"{file.stat().st_size:>10,}  {file.relative_to(ROOT)}\n")
    found = obstacles()
    sys.stdout.write("".join(f"not to be published yet: {line}\n" for line in found))
    return 1 if found and "--publish" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
