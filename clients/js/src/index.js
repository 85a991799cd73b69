export { HubAway, HubLost, HubRefused, MailboxFull, PostroadError, RequestFailed, WebhookRefused } from "./errors.js";
export { Hub, Message } from "./hub.js";
export { Postroad } from "./road.js";
export { verify } from "./verify.js";
