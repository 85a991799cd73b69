/** What every error of this package is. */
export class PostroadError extends Error {}
/** The hub is not connected, or the client was stopped: nothing was sent. */
export class HubAway extends PostroadError {}
/** The connection broke before the answer: the command may have been executed. */
export class HubLost extends PostroadError {}
/** The hub refused a command. */
export class HubRefused extends PostroadError {
  readonly code: string;
}
/** The mailbox takes nothing until it is empty. */
export class MailboxFull extends PostroadError {
  readonly box: string;
}
/** The server refused a request, or gave no answer (`status` is 0, and it may have been done). */
export class RequestFailed extends PostroadError {
  readonly status: number;
  readonly type: string;
  readonly problem: Problem;
  readonly retryAfterMs?: number;
}
/** A request is not a webhook of this sender, or it is too old. */
export class WebhookRefused extends PostroadError {}

/** An error as the API writes it (RFC 9457). */
export interface Problem {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  errors?: { field: string; message: string }[];
}

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Bytes = ArrayBuffer | ArrayBufferView;

/** A message of a mailbox. It may come again: recognise it by `box` and `id`. */
export class Message {
  readonly box: string;
  readonly id: number;
  /** When the hub accepted it. */
  readonly at: Date;
  /** The body as a text; throws where it is no UTF-8. */
  get text(): string;
  get bytes(): Uint8Array;
  /** The body as the JSON value that it is; throws where it is none. */
  json<T = Json>(): T;
}

export interface HubOptions {
  /** A subscription has ended: `taken over`, `deleted`, or `refused` after a reconnect. */
  onEnd?: (box: string, why: string) => void;
  /** A handler threw; it is called again with the same message. The console is told by default. */
  onError?: (error: unknown, message: Message) => void;
  /** Pause after a handler threw; it grows up to sixty times this. 1,000 by default. */
  retryMs?: number;
  /** How long a command waits for a connection before it fails with HubAway. 20,000 by default. */
  waitMs?: number;
  /** Pause before a connection is made again; it grows up to 30 s. 250 by default. */
  reconnectMs?: number;
  /** After so long without a word the hub is asked, and left when it does not answer. 30,000. */
  quietMs?: number;
  /** In place of the global WebSocket, or of the one for Node.js in this package. */
  WebSocket?: new (url: string, protocol: string) => unknown;
}

export interface CreatedMailbox {
  box: string;
  senderToken: string;
  recipientToken: string;
  quota: number;
}

/** A client of a hub: one connection for sending and for many mailboxes. */
export class Hub {
  constructor(url: string, options?: HubOptions);
  /** Receive from these mailboxes, given as recipient tokens by name; returns those refused. */
  subscribe(boxes: Record<string, string>, handle: (message: Message) => unknown): Promise<string[]>;
  unsubscribe(names: string[]): Promise<void>;
  /** Store a message and return its id: a text, bytes, or a value that is sent as JSON. */
  send(box: string, token: string, body: Json | Bytes): Promise<number>;
  /** Wait until a mailbox that was full can be sent to. */
  space(box: string, token: string): Promise<void>;
  create(token: string, options?: { quota?: number; ttl?: number }): Promise<CreatedMailbox>;
  /** Hand over nothing more, wait for handlers that run, and disconnect. */
  stop(options?: { waitMs?: number }): Promise<void>;
}

export interface RoadOptions {
  token?: string;
  tenant?: string;
  timeoutMs?: number;
  /** How often a request with a key is tried. 4 by default. */
  tries?: number;
  fetch?: typeof fetch;
}

export interface SendOptions {
  key?: string;
  orderKey?: string;
  deliverAt?: Date | string;
  /** Seconds. */
  delay?: number;
  expiresAt?: Date | string;
  priority?: number;
  headers?: Record<string, string>;
  credential?: string;
  check?: boolean;
  zone?: string;
  replace?: string;
  /** Seconds. */
  atMost?: number;
  /** Seconds. */
  uniqueFor?: number;
}

export interface PublishOptions {
  key?: string;
  channels?: string[];
}

export interface Receipt {
  id: string;
  queue: string;
  duplicate: boolean;
  /** With `replace`: the one before it was `replaced`, or had `started`. */
  earlier: string;
}

export interface EventReceipt {
  id: string;
  type: string;
  /** The ids of its messages; none when no endpoint matched. */
  messages: string[];
  duplicate: boolean;
  /** How the body does not fit the schema of its type, which only warns. */
  problems: string[];
}

/** A client of a server's API. */
export class Postroad {
  constructor(url: string, options?: RoadOptions);
  send(queue: string, body: Json | Bytes, options?: SendOptions): Promise<Receipt>;
  publish(type: string, body: Json, options?: PublishOptions): Promise<EventReceipt>;
}

export interface VerifyOptions {
  /** How old a webhook may be, in seconds. 300 by default. */
  toleranceS?: number;
  /** Milliseconds since 1970. */
  now?: number;
}

type AnyHeaders = { get(name: string): string | null } | Record<string, string | string[] | undefined>;

/** Verify a webhook (Standard Webhooks) and return its body as a text; throws WebhookRefused. */
export function verify(
  secrets: string | string[],
  headers: AnyHeaders,
  body: string | Bytes,
  options?: VerifyOptions,
): Promise<string>;
