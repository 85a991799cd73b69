import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { test } from "node:test";

import { verify } from "../src/index.js";

const KEY = Buffer.from("secrets are 24 to 64 bytes");
const SECRET = `whsec_${KEY.toString("base64")}`;
const NOW = 1_700_000_000_000;
const BODY = '{"text":"é ✓"}';

function signed(body = BODY, { id = "msg_1", at = NOW / 1_000, key = KEY } = {}) {
  const signature = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": String(at), "webhook-signature": `v1,${signature}` };
}

const refused = (text) => ({ name: "WebhookRefused", message: text });

test("a signed body is given back, from any kind of headers and of body", async () => {
  const headers = signed();
  const loud = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
  for (const given of [headers, new Headers(headers), loud]) {
    for (const body of [BODY, Buffer.from(BODY), new TextEncoder().encode(BODY).buffer]) {
      assert.equal(await verify(SECRET, given, body, { now: NOW }), BODY);
    }
  }
});

test("what was changed, or signed by others, is refused", async () => {
  const wrong = refused("the signature fits no secret");
  await assert.rejects(verify(SECRET, signed(), `${BODY} `, { now: NOW }), wrong);
  await assert.rejects(verify(SECRET, { ...signed(), "webhook-id": "msg_2" }, BODY, { now: NOW }), wrong);
  await assert.rejects(verify(SECRET, signed(BODY, { key: Buffer.alloc(32) }), BODY, { now: NOW }), wrong);
  for (const signature of ["v1,", "v1,%%%", "v2,AAAA", "nonsense", signed()["webhook-signature"].replace("v1", "v1a")]) {
    await assert.rejects(verify(SECRET, { ...signed(), "webhook-signature": signature }, BODY, { now: NOW }), wrong);
  }
  for (const name of ["id", "timestamp", "signature"]) {
    await assert.rejects(verify(SECRET, { ...signed(), [`webhook-${name}`]: "" }, BODY), refused("not signed"));
  }
});

test("one of several secrets or signatures fits, while a secret is changed", async () => {
  const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  assert.equal(await verify([other, SECRET], signed(), BODY, { now: NOW }), BODY);
  const both = { ...signed(), "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")} ${signed()["webhook-signature"]}` };
  assert.equal(await verify(SECRET, both, BODY, { now: NOW }), BODY);
  await assert.rejects(verify([], signed(), BODY, { now: NOW }), refused("the signature fits no secret"));
});

test("a webhook that is too old, or of the future, is refused", async () => {
  const late = refused("signed too long ago, or not yet");
  for (const seconds of [-300, 300]) assert.ok(await verify(SECRET, signed(), BODY, { now: NOW + seconds * 1_000 }));
  for (const seconds of [-301, 301]) await assert.rejects(verify(SECRET, signed(), BODY, { now: NOW + seconds * 1_000 }), late);
  assert.ok(await verify(SECRET, signed(), BODY, { now: NOW + 900_000, toleranceS: 900 }));
  for (const at of ["1e9", "x", "9".repeat(20), "-1"]) {
    await assert.rejects(verify(SECRET, signed(BODY, { at }), BODY, { now: NOW }), late);
  }
});

test("public keys verify ed25519 signatures", async () => {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const at = NOW / 1_000;
  const signature = sign(null, Buffer.from(`msg_1.${at}.${BODY}`), privateKey).toString("base64");
  const headers = { ...signed(), "webhook-signature": `v1a,${signature}` };
  const key = `whpk_${raw.toString("base64")}`;
  assert.equal(await verify(key, headers, BODY, { now: NOW }), BODY);
  await assert.rejects(verify(key, headers, `${BODY} `, { now: NOW }), { name: "WebhookRefused" });
});
