"""`make audit`: a pin that is known to be vulnerable is found, and silence is never good news."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCK = (
    "# made\nGood_One==1.0 \\\n    --hash=sha256:00\nbad-one[extra]==2.0 \\\n    --hash=sha256:11\n"
)
GOOD: dict[str, object] = {"info": {}, "vulnerabilities": []}
BAD = {"vulnerabilities": [{"id": "PYSEC-1\x1b[2J", "fixed_in": ["2.1"], "withdrawn": None}]}
OLD = {"vulnerabilities": [{"id": "PYSEC-2", "withdrawn": "2026-01-01"}]}


@contextmanager
def answering(answers: dict[str, object]) -> Iterator[str]:
    """A database: its address. What it does not know is 404."""

    class Database(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.split("/")[2]
            body = json.dumps(answers.get(name)).encode()
            self.send_response(200 if name in answers else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Database) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/pypi"
        server.shutdown()
        thread.join()


def audit(lock: Path, database: str) -> tuple[int, str]:
    lock.write_text(LOCK)
    command = (sys.executable, ROOT / "scripts" / "audit.py", lock, "--database", database)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_a_pin_that_is_known_to_be_vulnerable_is_found(tmp_path: Path) -> None:
    with answering({"good_one": GOOD, "bad-one": BAD}) as url:
        code, said = audit(tmp_path / "a.lock", url)
    assert (code, said) == (1, "VULNERABLE bad-one 2.0: PYSEC-1?[2J; mended in 2.1\n")


def test_all_pins_without_a_known_one_pass(tmp_path: Path) -> None:
    with answering({"good_one": GOOD, "bad-one": OLD}) as url:
        assert audit(tmp_path / "a.lock", url) == (0, "no known vulnerabilities in 2 pins\n")


@pytest.mark.parametrize("where", ["nobody listens", "a mirror without it", "a folder"])
def test_where_there_is_nobody_to_ask_that_is_said(tmp_path: Path, where: str) -> None:
    with socket.socket() as taken, answering({}) as mirror:
        taken.bind(("127.0.0.1", 0))
        silent = f"http://127.0.0.1:{taken.getsockname()[1]}/pypi"
        places = {
            "nobody listens": silent,
            "a mirror without it": mirror,
            "a folder": f"file://{tmp_path}/pypi",
        }
        code, said = audit(tmp_path / "a.lock", places[where])
    assert code == 3
    assert said.startswith("no advisory database reached: nothing was checked (")
    assert "no known" not in said


@pytest.mark.parametrize("odd", [{"info": {}}, {"vulnerabilities": 7}, {"vulnerabilities": ["x"]}])
def test_an_answer_without_a_list_is_none(tmp_path: Path, odd: object) -> None:
    with answering({"good_one": GOOD, "bad-one": odd}) as url:
        code, said = audit(tmp_path / "a.lock", url)
    assert code == 3
    assert "not checked: bad-one 2.0" in said
    assert "1 of 2 pins were not checked" in said
    assert "no known" not in said
