import { encode } from "./base64.js";
import { Connection } from "./connection.js";
import { HubAway, HubLost, HubRefused, MailboxFull } from "./errors.js";
import { Mailbox } from "./mailbox.js";
import { Message } from "./message.js";
import { Backoff, deferred, pause } from "./waiting.js";

export { Message };

const BATCH = 256;

/** A client of a hub: it sends to mailboxes and receives from many over one connection, which is
 * made when it is first needed, and made again when it breaks. */
export class Hub {
  #url;
  #options;
  #boxes = new Map();
  #watched = new Map();
  #connection = null;
  #connecting = null;
  #backoff;
  #stopped = new AbortController();

  constructor(url, options = {}) {
    if (!/^wss?:$/.test(new URL(url).protocol)) throw new TypeError(`${url}: give wss://HOST:PORT or ws://HOST:PORT`);
    this.#url = url;
    this.#options = { retryMs: 1_000, waitMs: 20_000, ...options };
    this.#backoff = new Backoff(options.reconnectMs ?? 250, 30_000);
  }

  /** Receive from these mailboxes, given as recipient tokens by name. A message is acked when
   * `handle` has returned; when it throws, it is called again with the same message after a pause.
   * Returns the names that the hub refused. */
  async subscribe(boxes, handle) {
    this.#mustRun();
    const onError = (error, message) => this.#tell("onError", error, message);
    const how = { handle, onError, retryMs: this.#options.retryMs };
    const made = Object.entries(boxes).map(([name, token]) => new Mailbox(name, token, how));
    for (const box of made) {
      this.#boxes.get(box.name)?.end();
      this.#boxes.get(box.name)?.answered.resolve(false);
      this.#boxes.set(box.name, box);
    }
    if (this.#connection) this.#join(this.#connection, made);
    else this.#connect();
    const refused = await Promise.all(made.map((box) => box.answered.promise));
    return made.filter((_, at) => refused[at]).map((box) => box.name);
  }

  /** Stop receiving from these mailboxes. */
  async unsubscribe(names) {
    const ended = names.map((name) => this.#boxes.get(name)).filter(Boolean);
    for (const box of ended) box.end();
    await Promise.all(ended.map((box) => box.idle));
    for (const box of ended) if (this.#boxes.get(box.name) === box) this.#boxes.delete(box.name);
    for (let at = 0; at < names.length && this.#connection; at += BATCH) {
      await this.#connection.ask({ do: "unsub", boxes: names.slice(at, at + BATCH) }).catch(gone);
    }
  }

  /** Store a message in a mailbox, and return its id. Bytes are sent as they are, texts as texts,
   * other values as JSON. HubAway: nothing was sent; HubLost: it may have been stored. */
  async send(box, token, body) {
    const said = await this.#ask({ do: "send", box, token, ...content(body) });
    if (said.is === "quota") throw new MailboxFull(box);
    return said.id;
  }

  /** Wait until a mailbox that was full can be sent to. */
  async space(box, token) {
    this.#mustRun();
    const waits = this.#watched.get(box) ?? { token, ...deferred() };
    this.#watched.set(box, waits);
    if (this.#connection) this.#watch(this.#connection, [[box, token]]);
    else this.#connect();
    return waits.promise;
  }

  /** Make a mailbox, with its two tokens; `token` is the hub's own for this. */
  async create(token, { quota = 0, ttl = 0 } = {}) {
    const { box, sender_token, recipient_token, quota: most } = await this.#ask({ do: "create", token, quota, ttl });
    return { box, senderToken: sender_token, recipientToken: recipient_token, quota: most };
  }

  /** Hand over nothing more, wait for handlers that run and their acks, and disconnect. */
  async stop({ waitMs = 10_000 } = {}) {
    const boxes = [...this.#boxes.values()];
    for (const box of boxes) box.end();
    const over = new AbortController();
    await Promise.race([Promise.all(boxes.map((box) => box.idle)), pause(waitMs, over.signal)]);
    over.abort();
    this.#stopped.abort();
    this.#connection?.close();
    const away = new HubAway("the client was stopped");
    for (const box of boxes) box.answered.reject(away);
    for (const waits of this.#watched.values()) waits.reject(away);
  }

  #mustRun() {
    if (this.#stopped.signal.aborted) throw new HubAway("the client was stopped");
  }

  async #ask(command) {
    this.#mustRun();
    if (!this.#connection) {
      const over = new AbortController();
      await Promise.race([this.#connect(), pause(this.#options.waitMs, over.signal)]);
      over.abort();
    }
    if (!this.#connection) throw new HubAway(`${this.#url} is away; nothing was sent`);
    const said = await this.#connection.ask(command);
    this.#backoff.reset();
    return said;
  }

  #connect(waitMs = 0) {
    this.#connecting ??= this.#dial(waitMs).finally(() => (this.#connecting = null));
    return this.#connecting;
  }

  async #dial(waitMs) {
    for (; ; waitMs = this.#backoff.next()) {
      await pause(waitMs, this.#stopped.signal);
      if (this.#stopped.signal.aborted) return;
      const connection = await this.#opened();
      if (connection && this.#stopped.signal.aborted) connection.close();
      else if (connection) return this.#begin(connection);
    }
  }

  async #opened() {
    let connection = null;
    const onFrame = (frame) => this.#hear(connection, frame);
    const onLost = () => this.#lost(connection);
    try {
      connection = await Connection.open(this.#url, { ...this.#options, onFrame, onLost });
    } catch (error) {
      if (!(error instanceof HubAway)) throw error;
    }
    return connection;
  }

  #begin(connection) {
    this.#connection = connection;
    this.#join(connection, [...this.#boxes.values()]);
    this.#watch(connection, [...this.#watched].map(([box, { token }]) => [box, token]));
  }

  #lost(connection) {
    if (this.#connection !== connection) return;
    this.#connection = null;
    if (this.#boxes.size || this.#watched.size) this.#connect(this.#backoff.next());
  }

  #hear(connection, frame) {
    if (frame.is === "message") this.#boxes.get(frame.box)?.take(connection, frame);
    if (frame.is === "end") this.#end(frame.box, frame.why);
    if (frame.is === "continue") this.#open(frame.box);
  }

  #end(name, why) {
    const box = this.#boxes.get(name);
    if (!box) return;
    box.end();
    this.#boxes.delete(name);
    this.#tell("onEnd", name, why);
  }

  #open(box) {
    this.#watched.get(box)?.resolve();
    this.#watched.delete(box);
  }

  /** Subscribe on a connection. When it breaks, the next one subscribes to all. */
  async #join(connection, boxes) {
    for (let at = 0; at < boxes.length; at += BATCH) {
      const asked = boxes.slice(at, at + BATCH).filter((box) => this.#boxes.get(box.name) === box);
      const pairs = asked.map((box) => [box.name, box.token]);
      const said = await this.#insist(connection, { do: "sub", boxes: pairs });
      if (!said) return;
      for (const box of asked) this.#settle(box, said.is === "error" || said.refused?.includes(box.name));
    }
  }

  #settle(box, isRefused) {
    box.answered.resolve(isRefused ?? false);
    if (!isRefused) box.joined = true;
    else if (box.joined) this.#end(box.name, "refused"); // it was deleted, or its token changed
    else if (this.#boxes.get(box.name) === box) this.#boxes.delete(box.name);
  }

  async #watch(connection, pairs) {
    for (let at = 0; at < pairs.length; at += BATCH) {
      const said = await this.#insist(connection, { do: "watch", boxes: pairs.slice(at, at + BATCH) });
      for (const box of said?.refused ?? []) {
        this.#watched.get(box)?.reject(new HubRefused("denied", "no such mailbox, or the token is not its own"));
        this.#watched.delete(box);
      }
    }
  }

  /** Ask again while the hub's store is away; nothing when the connection broke. */
  async #insist(connection, command) {
    const backoff = new Backoff(this.#options.retryMs, 10_000);
    while (connection.alive) {
      try {
        const said = await connection.ask(command);
        this.#backoff.reset();
        return said;
      } catch (error) {
        if (error.code && error.code !== "unavailable") return { is: "error" };
      }
      await pause(backoff.next(), this.#stopped.signal);
    }
    return null;
  }

  #tell(name, ...told) {
    try {
      (this.#options[name] ?? QUIET[name])(...told);
    } catch (error) {
      console.error(error); // a callback of the program's is wrong: the client goes on
    }
  }
}

const QUIET = { onEnd: () => {}, onError: (error) => console.error(error) };

function gone(error) {
  if (!(error instanceof HubLost)) throw error;
}

function content(body) {
  if (typeof body === "string") return { body };
  if (body instanceof ArrayBuffer) return { data: encode(new Uint8Array(body)) };
  if (ArrayBuffer.isView(body)) {
    return { data: encode(new Uint8Array(body.buffer, body.byteOffset, body.byteLength)) };
  }
  const text = JSON.stringify(body);
  if (text === undefined) throw new TypeError("the body is no JSON: give a text, bytes, or a JSON value");
  return { body: text };
}
