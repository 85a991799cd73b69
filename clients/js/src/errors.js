/** What every error of this package is. */
export class PostroadError extends Error {
  constructor(text, options) {
    super(text, options);
    this.name = new.target.name;
  }
}

/** The hub is not connected, or the client was stopped: nothing was sent. */
export class HubAway extends PostroadError {}

/** The connection broke before the answer: the command may have been executed. */
export class HubLost extends PostroadError {}

/** The hub refused a command; `code` is a word of the protocol. */
export class HubRefused extends PostroadError {
  constructor(code, text) {
    super(text);
    this.code = code;
  }
}

/** The mailbox takes nothing until it is empty; `hub.space(box, token)` waits for that. */
export class MailboxFull extends PostroadError {
  constructor(box) {
    super(`${box} takes nothing until it is empty`);
    this.box = box;
  }
}

/** The server refused a request, or gave no answer (`status` is 0, and it may have been done). */
export class RequestFailed extends PostroadError {
  constructor(status, problem, options) {
    super(problem.detail || problem.title || `the server answered with ${status}`, options);
    this.status = status;
    this.type = problem.type || "";
    this.problem = problem;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

/** A request is not a webhook of this sender, or it is too old. Answer it with 401. */
export class WebhookRefused extends PostroadError {}
