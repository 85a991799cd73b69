"""Packages that tests install: workers that want the same one at once."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
APT = """#!/bin/sh
mkdir busy || exit 100
echo "$*" >> asked
test -x policy || exit 1
sleep 0.3
case "$*" in *" install "*) touch installed;; esac
rmdir busy
"""
DPKG = "#!/bin/sh\ntest ! -e installed || printf installed\n"
WORKER = """
import os, pathlib, sys
sys.path.insert(0, {root!r})
from tests import servers
os.geteuid = lambda: 0
servers.POLICY, servers.CREATECLUSTER, servers.INSTALLING = map(pathlib.Path, ("policy", "made", "lock"))
os.environ["PATH"] = "bin:" + os.environ["PATH"]
servers.apt_install("nginx-light")
"""


def test_workers_install_one_after_the_other_and_only_once(tmp_path: Path) -> None:
    """An apt that fails when another one runs, or when a package could start its server."""
    (tmp_path / "bin").mkdir()
    for name, text in (("apt-get", APT), ("dpkg-query", DPKG)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    code = WORKER.format(root=str(ROOT))
    workers = [subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path) for _ in range(3)]
    assert [each.wait() for each in workers] == [0, 0, 0]
    asked = [line.split()[6:] for line in (tmp_path / "asked").read_text().splitlines()]
    assert asked == [["update"], ["install", "--no-install-recommends", "nginx-light"]]
    assert not (tmp_path / "policy").exists()
