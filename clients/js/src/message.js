import { decode } from "./base64.js";

/** A message of a mailbox. After a reconnect it may come again: recognise it by `box` and `id`. */
export class Message {
  #frame;

  constructor(frame) {
    this.#frame = frame;
    this.box = frame.box;
    this.id = frame.id;
    this.at = new Date(frame.at);
  }

  /** The body as a text; bytes are read as UTF-8, and throw where they are not. */
  get text() {
    return this.#frame.body ?? new TextDecoder("utf-8", { fatal: true }).decode(this.bytes);
  }

  /** The body as bytes. */
  get bytes() {
    const { body, data } = this.#frame;
    return body === undefined ? decode(data ?? "") : new TextEncoder().encode(body);
  }

  /** The body as the JSON value that it is; throws where it is none. */
  json() {
    return JSON.parse(this.text);
  }
}
