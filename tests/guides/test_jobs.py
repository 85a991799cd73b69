"""The guide for jobs runs, prints what it shows, and its test passes with the plugin."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

from tests.guides.running import examples, run, same

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "jobs.md"


def test_each_example_prints_what_the_guide_shows(tmp_path: Path) -> None:
    """Each is a program of its own."""
    found = [example for example in examples(GUIDE) if example.shown]
    assert len(found) == 7
    for example in found:
        printed = run(example.code, tmp_path)
        assert same(printed, example.shown), printed


def test_the_guides_own_test_passes(tmp_path: Path) -> None:
    """With the fixture that the plugin brings."""
    (example,) = [each for each in examples(GUIDE) if "def test_" in each.code]
    (tmp_path / "test_guide.py").write_text(example.code)
    plugin = ("-p", "postroad.testing.plugin", "-p", "no:cacheprovider")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *plugin, "-q", str(tmp_path)),
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_guides_web_application_delivers_and_ends_with_its_server(tmp_path: Path) -> None:
    """A road that took the server's signals would leave it deaf to them."""
    (example,) = [each for each in examples(GUIDE) if "lifespan" in each.code]
    (tmp_path / "shop.py").write_text(example.code)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        command = (sys.executable, "-m", "uvicorn", "shop:app", "--fd", str(taken.fileno()))
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            pass_fds=(taken.fileno(),),
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        ) as server:
            try:
                host, port = taken.getsockname()
                with closing(HTTPConnection(host, port, timeout=60)) as line:
                    line.request("POST", "/sign-up", b'{"name": "Ada"}')
                    assert line.getresponse().status == 201
                assert server.stdout is not None
                assert "welcome, Ada\n" in iter(server.stdout.readline, "")
                server.send_signal(signal.SIGINT)
                assert server.wait(60) in (0, -signal.SIGINT)
            finally:
                server.kill()
