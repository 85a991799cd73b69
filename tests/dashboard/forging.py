"""A provider that lies: it publishes what it is told to, and gives what it is told to for a code."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jwcrypto.jwk import JWK
from jwcrypto.jwt import JWT

CLIENT_ID = "postroad"


class ForgedProvider:
    """Answers for one login at a time. A test changes `claims`, `answers` or the keys."""

    def __init__(self) -> None:
        self.keys = [JWK.generate(kty="RSA", size=2_048, kid="one", use="sig", alg="RS256")]
        self.issuer = ""
        self.nonce = ""
        self.claims: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.answers: dict[str, bytes] = {}
        """What is answered at a path in place of the truth."""
        self.asked: list[str] = []
        self.forms: list[dict[str, list[str]]] = []
        self.id_token = self.signed

    def signed(self) -> str:
        """The ID token, by the newest key."""
        key = self.keys[-1]
        token = JWT({"alg": key["alg"], "kid": key["kid"], **self.header}, self.said())
        token.make_signed_token(key)
        return str(token.serialize())

    def said(self) -> dict[str, Any]:
        now = int(time.time())
        usual: dict[str, Any] = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": "42",
            "nonce": self.nonce,
        }
        usual |= {"iat": now, "exp": now + 300, "groups": ["road-operators"]}
        usual |= {"preferred_username": "ada"}
        told = {**usual, **self.claims}
        return {name: value for name, value in told.items() if value is not None}

    def _answer(self, path: str, body: bytes) -> bytes:
        self.asked.append(path)
        if path in self.answers:
            return self.answers[path]
        if path == "/token":
            self.forms.append(parse_qs(body.decode()))
            return json.dumps({"id_token": self.id_token(), "access_token": "unused"}).encode()
        if path == "/keys":
            return json.dumps(
                {"keys": [json.loads(each.export_public()) for each in self.keys]}
            ).encode()
        doors = {"authorization_endpoint": "/go", "token_endpoint": "/token", "jwks_uri": "/keys"}
        found = {name: f"{self.issuer}{place}" for name, place in doors.items()}
        return json.dumps({"issuer": self.issuer, **found}).encode()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
            body = await reader.readexactly(size)
            said = self._answer(head.split()[1].decode(), body)
            length = f"content-length: {len(said)}\r\nconnection: close\r\n\r\n"
            writer.write(f"HTTP/1.1 200 OK\r\n{length}".encode() + said)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    @asynccontextmanager
    async def up(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.issuer = self.issuer or f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            server.close()


def asked_for(location: str) -> dict[str, str]:
    """What a browser is sent to a provider with."""
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}
