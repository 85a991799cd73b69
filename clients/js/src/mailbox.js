import { Message } from "./message.js";
import { Backoff, deferred, pause } from "./waiting.js";

/** A mailbox that is subscribed to: it hands over one message at a time, in order. */
export class Mailbox {
  /** Settled when the hub has answered the first subscription: whether it was refused. */
  answered = deferred();
  joined = false;
  idle = Promise.resolve();
  #held = null;
  #done = null;
  #working = false;
  #ended = new AbortController();
  #handle;
  #onError;
  #retryMs;

  constructor(name, token, { handle, onError, retryMs }) {
    this.name = name;
    this.token = token;
    this.#handle = handle;
    this.#onError = onError;
    this.#retryMs = retryMs;
  }

  /** Take a message. Only the newest frame can be acked: its connection is the one that lives. */
  take(connection, frame) {
    if (this.#ended.signal.aborted) return;
    this.#held = { connection, frame };
    if (this.#working) return;
    this.#working = true;
    this.idle = this.#work().finally(() => (this.#working = false));
  }

  /** Hand over no more. What is being handled is finished and acked. */
  end() {
    this.#ended.abort();
  }

  async #work() {
    while (this.#held) {
      const { frame } = this.#held;
      if (frame.id !== this.#done && !(await this.#handled(frame))) return;
      this.#done = frame.id; // it may come again before its ack has arrived
      if (this.#held.frame.id === frame.id) await this.#ack(this.#held);
      if (this.#ended.signal.aborted) return;
    }
  }

  /** Call the handler until it does not throw; false when there was an end before that. */
  async #handled(frame) {
    const backoff = new Backoff(this.#retryMs, 60 * this.#retryMs);
    while (!this.#ended.signal.aborted) {
      const message = new Message(frame);
      try {
        await this.#handle(message);
        return true;
      } catch (error) {
        this.#onError(error, message);
      }
      await pause(backoff.next(), this.#ended.signal);
    }
    return false;
  }

  async #ack(held) {
    this.#held = null;
    const { connection, frame } = held;
    try {
      const said = await connection.ask({ do: "ack", box: this.name, id: frame.id });
      if (said.next && !this.#held) this.#held = { connection, frame: said.next };
    } catch (error) {
      // A lost ack: the message comes again, and is only acked then. Other refusals: it has expired,
      // or is another subscriber's now.
      if (error.code !== "unavailable") return;
      await pause(new Backoff(this.#retryMs, this.#retryMs).next(), this.#ended.signal);
      this.#held ??= held;
    }
  }
}
