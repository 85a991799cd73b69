// A WebSocket for Node.js before 22, which has none: text messages alone, as a client.
import { createHash, randomBytes } from "node:crypto";
import { request as plain } from "node:http";
import { request as secure } from "node:https";

const CLOSE_MS = 1_000;
const MESSAGE_BYTES_MAX = 4 << 20;
const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; // RFC 6455, 1.3
const [TEXT, CLOSE, PING, PONG] = [1, 8, 9, 10];

export class NodeSocket {
  onopen = () => {};
  onmessage = () => {};
  onclose = () => {};
  onerror = () => {};
  #line = null;
  #held = Buffer.alloc(0);
  #parts = [];
  #partsBytes = 0;
  #request;
  #ended = false;

  constructor(url, protocol) {
    const key = randomBytes(16).toString("base64");
    const at = new URL(url.replace(/^ws/, "http"));
    const headers = {
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": key,
      "sec-websocket-protocol": protocol,
    };
    this.#request = (at.protocol === "https:" ? secure : plain)(at, { headers });
    this.#request.on("upgrade", (answer, line, first) => this.#begin(answer, line, first, key));
    this.#request.on("response", (answer) => answer.destroy() && this.#end());
    this.#request.on("error", () => this.#end());
    this.#request.end();
  }

  send(text) {
    this.#write(TEXT, Buffer.from(text));
  }

  close(code = 1000) {
    if (!this.#line) {
      this.#request.destroy();
      this.#end();
      return;
    }
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    this.#write(CLOSE, payload);
    const line = this.#line;
    line.end();
    setTimeout(() => line.destroy(), CLOSE_MS).unref(); // a server that never closes keeps no process
  }

  #begin(answer, line, first, key) {
    const expected = createHash("sha1").update(key + GUID).digest("base64");
    if (this.#ended || answer.headers["sec-websocket-accept"] !== expected) {
      line.destroy();
      this.#end();
      return;
    }
    this.#line = line;
    line.setNoDelay(true);
    line.setKeepAlive(true, 60_000);
    line.on("data", (data) => this.#read(data));
    line.on("error", () => {});
    line.on("close", () => this.#end());
    if (first.length) line.unshift(first);
    this.onopen();
  }

  #read(data) {
    this.#held = this.#held.length ? Buffer.concat([this.#held, data]) : data;
    for (let frame = this.#frame(); frame; frame = this.#frame()) this.#take(frame);
  }

  /** The next whole frame, taken off what is held; nothing when it has not come yet. */
  #frame() {
    const held = this.#held;
    if (held.length < 2 || !this.#line) return null;
    let [size, start] = [held[1] & 0x7f, 2];
    if (size === 126) start = 4;
    if (size === 127) start = 10;
    if (held.length < start) return null;
    if (size === 126) size = held.readUInt16BE(2);
    if (size === 127) size = Number(held.readBigUInt64BE(2));
    if (held[1] & 0x80 || held[0] & 0x70 || this.#partsBytes + size > MESSAGE_BYTES_MAX) {
      this.#line.destroy(); // no server masks or extends what it sends unasked
      return null;
    }
    if (held.length < start + size) return null;
    this.#held = held.subarray(start + size);
    return { last: Boolean(held[0] & 0x80), kind: held[0] & 0x0f, payload: held.subarray(start, start + size) };
  }

  #take({ last, kind, payload }) {
    if (kind === PING) this.#write(PONG, payload);
    else if (kind === CLOSE) this.close();
    else if (kind !== PONG) {
      this.#parts.push(payload);
      this.#partsBytes += payload.length;
      if (last) this.#whole();
    }
  }

  #whole() {
    const data = Buffer.concat(this.#parts).toString();
    this.#parts = [];
    this.#partsBytes = 0;
    this.onmessage({ data });
  }

  #write(kind, payload) {
    if (!this.#line || this.#line.destroyed || this.#line.writableEnded) return;
    const head = lengthHead(payload.length);
    head[0] = 0x80 | kind;
    const mask = randomBytes(4);
    const masked = Buffer.from(payload.map((byte, at) => byte ^ mask[at & 3]));
    this.#line.write(Buffer.concat([head, mask, masked]));
  }

  #end() {
    if (this.#ended) return;
    this.#ended = true;
    this.#line = null;
    this.onclose();
  }
}

/** The head of a masked frame, in the shortest form that its length has. */
function lengthHead(size) {
  const head = Buffer.alloc(size < 126 ? 2 : size < 65_536 ? 4 : 10);
  head[1] = 0x80 | (head.length === 2 ? size : head.length === 4 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(size, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(size), 2);
  return head;
}
