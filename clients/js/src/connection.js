import { HubAway, HubLost, HubRefused } from "./errors.js";

const PROTOCOL = "postroad.hub.v1.json";
const OPEN_MS = 20_000;
const QUIET_MS = 30_000; // neither browsers nor hubs ask after a line that a router has forgotten

async function socketClass() {
  if (globalThis.WebSocket) return globalThis.WebSocket;
  return (await import("./node-socket.js")).NodeSocket; // Node before 22
}

/** One connection to a hub: commands with their answers, and the frames that nobody asked for. */
export class Connection {
  #socket;
  #asked = new Map();
  #number = 0;
  #onFrame;
  #onLost;
  #quiet;
  #quietMs;
  #over = false;

  constructor(socket, { onFrame, onLost, quietMs = QUIET_MS }) {
    this.#socket = socket;
    this.#onFrame = onFrame;
    this.#onLost = onLost;
    this.#quietMs = quietMs;
    socket.onmessage = ({ data }) => this.#read(data);
    socket.onclose = () => this.#end();
    this.#listen();
  }

  /** Connect; HubAway when that fails. */
  static async open(url, options) {
    const kind = options.WebSocket ?? (await socketClass());
    const away = (cause) => new HubAway(`${url} cannot be connected to`, { cause });
    let socket;
    try {
      socket = new kind(url, PROTOCOL);
    } catch (error) {
      throw away(error); // the policy of a page forbids it
    }
    await new Promise((resolve, reject) => {
      const timer = setTimeout(() => socket.close(), OPEN_MS);
      socket.onopen = () => clearTimeout(timer) ?? resolve();
      socket.onclose = () => clearTimeout(timer) ?? reject(away());
      socket.onerror = () => {}; // its end follows
    });
    return new Connection(socket, options);
  }

  get alive() {
    return !this.#over;
  }

  /** Send a command, and wait for its answer. HubRefused: an error; HubLost: there was none. */
  ask(command) {
    if (this.#over) return Promise.reject(new HubLost("the hub is not connected"));
    const n = ++this.#number;
    return new Promise((resolve, reject) => {
      this.#asked.set(n, { resolve, reject });
      this.#socket.send(JSON.stringify({ ...command, n }));
    });
  }

  close() {
    this.#socket.close(1000, "done");
    this.#end(); // a browser tells of the end only when the other side agrees
  }

  #read(data) {
    let frame;
    try {
      frame = JSON.parse(data);
    } catch {
      frame = null;
    }
    if (frame === null || typeof frame !== "object") {
      this.close(); // this is no hub
      return;
    }
    this.#listen();
    const waits = this.#asked.get(frame.n);
    this.#asked.delete(frame.n);
    if (!waits) this.#onFrame(frame);
    else if (frame.is === "error") waits.reject(new HubRefused(frame.code, frame.text));
    else waits.resolve(frame);
  }

  /** Ask after the hub when nothing was heard for a time; hang up when that stays unanswered. */
  #listen() {
    clearTimeout(this.#quiet);
    this.#quiet = setTimeout(() => {
      this.ask({ do: "unsub", boxes: [] }).catch(() => {});
      this.#quiet = setTimeout(() => this.close(), this.#quietMs);
    }, this.#quietMs);
  }

  #end() {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#quiet);
    for (const { reject } of this.#asked.values()) {
      reject(new HubLost("the connection broke before the hub answered"));
    }
    this.#asked.clear();
    this.#onLost();
  }
}
