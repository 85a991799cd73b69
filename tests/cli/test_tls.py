"""TLS without a proxy: two files, and commands that know whom they speak to."""

import socket
from pathlib import Path

import pytest

from tests.cli.running import UP, data, postroad, running
from tests.servers.certificates import certify


def test_commands_reach_a_server_with_a_certificate_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certify(folder)
    tls = ("--set", f"tls_cert_file={cert}", "--set", f"tls_key_file={key}")
    with running(folder, *UP, *tls) as (_, door):
        assert door.url.startswith("https://127.0.0.1:")
        number = data("send", "good", "1")["id"]  # by the window, which needs none
        (folder / "token").write_text(data("token", "make", "far")["secret"])
        server = ("--server", door.url, "--token-file", "token")
        shown = data("message", "show", number, *server, "--ca-file", cert)
        assert shown["id"] == number
        unknown = postroad("message", "show", number, *server)
        assert unknown.exit_code == 3
        assert "--ca-file" in unknown.stderr
        other, _ = certify(folder, "other")
        monkeypatch.setenv("POSTROAD_CA_FILE", other)
        assert postroad("message", "show", number, *server).exit_code == 3
        monkeypatch.setenv("POSTROAD_CA_FILE", cert)
        assert data("message", "show", number, *server)["id"] == number
        bad = postroad("message", "show", number, *server, "--ca-file", "nowhere.pem")
        assert bad.exit_code == 2
        assert "nowhere.pem" in bad.stderr
        port = int(door.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), 30) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert not plain.recv(1_000).startswith(b"HTTP")


def test_files_that_are_no_certificate_and_key_are_named_at_start(folder: Path) -> None:
    cert, key = certify(folder)
    _, wrong = certify(folder, "other")
    (folder / "text").write_text("no PEM")
    (folder / "locked").write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\n")
    for files, words in {
        ("nowhere", key): "tls_cert_file: cannot read nowhere: No such file",
        (cert, "nowhere"): "tls_key_file: cannot read nowhere: No such file",
        (cert, wrong): "tls_key_file is not the key of tls_cert_file",
        (str(folder / "text"), key): "in PEM",
        (cert, str(folder / "locked")): "in PEM",
        (cert, ""): "tls_cert_file and tls_key_file go together",
    }.items():
        tls = ("--set", f"tls_cert_file={files[0]}", "--set", f"tls_key_file={files[1]}")
        ended = postroad("up", "--listen", "127.0.0.1:0", "--dsn", "sqlite:///b.db", *tls)
        assert ended.exit_code == 2, ended.output
        assert words in ended.stderr, ended.stderr
        assert "Traceback" not in ended.output
