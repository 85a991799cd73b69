import { decode } from "./base64.js";
import { WebhookRefused } from "./errors.js";

const TOLERANCE_S = 300;
const SIGNATURES_MAX = 10;
const HMAC = { name: "HMAC", hash: "SHA-256" };

/** Verify a webhook (Standard Webhooks) and return its body as a text; throws WebhookRefused.
 *
 * `body` is what came, unchanged: a text or bytes. `secrets` is one or several: `whsec_…`, or
 * public keys `whpk_…`. Any of them may fit, so a new one is added before the old one goes. */
export async function verify(secrets, headers, body, { toleranceS = TOLERANCE_S, now = Date.now() } = {}) {
  const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((name) => header(headers, `webhook-${name}`));
  if (!id || !timestamp || !signature) throw new WebhookRefused("not signed");
  if (!/^\d{1,12}$/.test(timestamp) || !(Math.abs(now / 1_000 - Number(timestamp)) <= toleranceS)) {
    throw new WebhookRefused("signed too long ago, or not yet");
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const given = signature.split(" ", SIGNATURES_MAX);
  const subtle = await webCrypto();
  for (const secret of [secrets].flat()) {
    if (await fits(subtle, secret, given, signed)) return new TextDecoder().decode(bytes);
  }
  throw new WebhookRefused("the signature fits no secret");
}

/** `subtle.verify` compares in constant time. All signatures are looked at, whichever fits. */
async function fits(subtle, secret, given, signed) {
  const isPublic = secret.startsWith("whpk_");
  const raw = decode(secret.replace(/^wh(sec|pk)_/, ""));
  const [kind, version] = isPublic ? [{ name: "Ed25519" }, "v1a,"] : [HMAC, "v1,"];
  const key = await subtle.importKey("raw", raw, kind, false, ["verify"]);
  let found = false;
  for (const item of given) {
    const bytes = item.startsWith(version) ? base64(item.slice(version.length)) : null;
    if (bytes && (await subtle.verify(kind.name, key, bytes, signed))) found = true;
  }
  return found;
}

function base64(text) {
  try {
    return decode(text);
  } catch {
    return null; // a stranger's
  }
}

/** Of a `Headers`, of Node's `request.headers`, or of any object. */
function header(headers, name) {
  if (typeof headers.get === "function") return headers.get(name) ?? "";
  const found = Object.keys(headers).find((key) => key.toLowerCase() === name);
  return found === undefined ? "" : String(headers[found]);
}

function joined(first, second) {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

async function webCrypto() {
  return (globalThis.crypto ?? (await import("node:crypto")).webcrypto).subtle; // Node 18 has no global
}
