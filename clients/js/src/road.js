import { encode } from "./base64.js";
import { PostroadError, RequestFailed } from "./errors.js";
import { Backoff, pause } from "./waiting.js";

const AGAIN = new Set([0, 429, 502, 503, 504]);

/** A client of a server's API: it sends messages and publishes events. */
export class Postroad {
  #url;
  #options;

  constructor(url, options = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#options = { timeoutMs: 30_000, tries: 4, ...options };
  }

  /** Send a message to a queue; it is stored when this returns. `body` is any JSON value, or bytes. */
  send(queue, body, options = {}) {
    const bytes = asBytes(body);
    const content = bytes ? { body_base64: encode(bytes) } : { body };
    return this.#post("/v1/messages", { queue, ...content, ...named(options) }, options.key);
  }

  /** Publish an event: a message for each endpoint that matches is stored when this returns. */
  publish(type, body, options = {}) {
    return this.#post("/v1/events", { type, body, ...named(options) }, options.key);
  }

  /** With a key a request may be repeated: the server gives the same receipt again. */
  async #post(path, data, key) {
    const content = JSON.stringify(data);
    const backoff = new Backoff(250, 10_000);
    for (let left = key ? this.#options.tries : 1; ; left--) {
      try {
        return await this.#once(path, content);
      } catch (error) {
        if (!(error instanceof RequestFailed) || !AGAIN.has(error.status) || left <= 1) throw error;
        await pause(Math.max(backoff.next(), error.retryAfterMs ?? 0), new AbortController().signal);
      }
    }
  }

  async #once(path, body) {
    const { token, tenant, timeoutMs, fetch = globalThis.fetch } = this.#options;
    const headers = { "content-type": "application/json" };
    if (token) headers.authorization = `Bearer ${token}`;
    if (tenant) headers["postroad-tenant"] = tenant;
    let answer, text;
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      answer = await fetch(this.#url + path, { method: "POST", headers, body, signal, credentials: "omit" });
      text = await answer.text();
    } catch (error) {
      throw new RequestFailed(0, { title: `${this.#url} gave no answer` }, { cause: error });
    }
    const said = parsed(text);
    if (answer.ok) return said;
    const retryAfterMs = Number(answer.headers.get("retry-after") ?? 0) * 1_000 || undefined;
    throw new RequestFailed(answer.status, said, { retryAfterMs });
  }
}

const NAMES = {
  key: "key",
  orderKey: "order_key",
  deliverAt: "deliver_at",
  delay: "delay",
  expiresAt: "expires_at",
  priority: "priority",
  headers: "headers",
  credential: "credential",
  check: "check",
  zone: "zone",
  replace: "replace",
  atMost: "at_most",
  uniqueFor: "unique_for",
  channels: "channels",
};

/** Options in the words of the API. Dates become ISO 8601 as they are. */
function named(options) {
  const found = Object.entries(options).map(([name, value]) => {
    if (!(name in NAMES)) throw new PostroadError(`there is no option ${name}: use ${Object.keys(NAMES).join(", ")}`);
    return [NAMES[name], value];
  });
  return Object.fromEntries(found);
}

function asBytes(body) {
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength) : null;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { title: text.slice(0, 200) }; // a proxy's page
  }
}
