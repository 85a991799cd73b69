import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { once } from "node:events";
import { test } from "node:test";

import { Hub } from "../src/index.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** A server that speaks WebSocket, is no hub, and says one thing to everybody. */
async function stranger(text) {
  const server = createServer();
  server.on("upgrade", (request, line) => {
    const key = createHash("sha1").update(request.headers["sec-websocket-key"] + GUID).digest("base64");
    const kind = request.headers["sec-websocket-protocol"];
    const head = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
    head.push(`Sec-WebSocket-Accept: ${key}`, `Sec-WebSocket-Protocol: ${kind}`);
    line.on("error", () => {});
    line.write(`${head.join("\r\n")}\r\n\r\n`);
    line.on("data", () => line.writable && line.write(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)])));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

for (const text of ["null", "5", "true", '"a"', "{"]) {
  test(`a server that says ${text} is taken for no hub, and breaks nothing`, async () => {
    const server = await stranger(text);
    const hub = new Hub(`ws://127.0.0.1:${server.address().port}`, { reconnectMs: 5 });
    await assert.rejects(hub.send("box", "token", "hello"), { name: "HubLost" });
    await hub.stop();
    server.close();
    server.closeAllConnections();
  });
}
