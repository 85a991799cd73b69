import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import { after, before, test } from "node:test";

import { Hub, HubAway, HubRefused, MailboxFull, Postroad, RequestFailed, verify, WebhookRefused } from "../src/index.js";
import { CREATE, Server, until } from "./server.js";

const server = new Server();
const open = [];
const NOWHERE = "http://127.0.0.1:9/hook";
const FAST = { retryMs: 5, reconnectMs: 5 };

before(() => server.start());
after(async () => {
  await Promise.all(open.map((hub) => hub.stop()));
  await server.end();
});

function hub(options = {}) {
  const made = new Hub(server.hubUrl, { ...FAST, ...options });
  open.push(made);
  return made;
}

test("texts, JSON and bytes arrive in order; what is refused is told and never handled", async () => {
  const client = hub();
  const box = await client.create(CREATE);
  const other = await client.create(CREATE);
  const got = [];
  const asked = { [box.box]: box.recipientToken, nobody: "x", [other.box]: "a wrong token" };
  const refused = await client.subscribe(asked, (message) => got.push(message));
  assert.deepEqual(refused.sort(), ["nobody", other.box].sort());
  const large = "é".repeat(32_000);
  for (const body of ["text", { total: 3 }, new Uint8Array([0, 255]), large]) await client.send(box.box, box.senderToken, body);
  await client.send(other.box, other.senderToken, "for nobody");
  await until(() => got.length === 4, "four messages");
  assert.deepEqual(got.map((message) => message.id), [1, 2, 3, 4]);
  assert.equal(got[0].text, "text");
  assert.deepEqual(got[1].json(), { total: 3 });
  assert.deepEqual([...got[2].bytes], [0, 255]);
  assert.throws(() => got[2].text, TypeError);
  assert.equal(got[3].text, large);
  assert.ok(got.every((message) => message.box === box.box && message.at instanceof Date));
});

test("JSON and text that are posted by plain HTTP arrive as text", async () => {
  const client = hub();
  const box = await client.create(CREATE);
  const url = `${server.hubHttp}/v1/mailboxes/${box.box}/messages`;
  const sent = [["application/json", '{"a":1}'], ["text/plain; charset=utf-8", "é"], ["application/octet-stream", "é"]];
  for (const [type, body] of sent) {
    const headers = { authorization: `Bearer ${box.senderToken}`, "content-type": type };
    assert.equal((await fetch(url, { method: "POST", headers, body })).status, 201);
  }
  const got = [];
  await client.subscribe({ [box.box]: box.recipientToken }, (message) => got.push(message.text));
  await until(() => got.length === 3, "three messages");
  assert.deepEqual(got, ['{"a":1}', "é", "é"]);
});

test("a handler that throws is called again with the same message, before the next one", async () => {
  const errors = [];
  const client = hub({ onError: (error, message) => errors.push([error.message, message.id]) });
  const box = await client.create(CREATE);
  const got = [];
  await client.subscribe({ [box.box]: box.recipientToken }, async (message) => {
    got.push(message.text);
    if (got.length <= 2) throw new Error("not yet");
  });
  for (const body of ["one", "two"]) await client.send(box.box, box.senderToken, body);
  await until(() => got.length === 4, "four calls");
  assert.deepEqual(got, ["one", "one", "one", "two"]);
  assert.deepEqual(errors, [["not yet", 1], ["not yet", 1]]);
});

test("a full mailbox is told, and when there is space again", async () => {
  const client = hub();
  const box = await client.create(CREATE, { quota: 1 });
  await client.send(box.box, box.senderToken, "one");
  await assert.rejects(client.send(box.box, box.senderToken, "two"), MailboxFull);
  const space = client.space(box.box, box.senderToken);
  await client.subscribe({ [box.box]: box.recipientToken }, () => {});
  await space;
  assert.equal(await client.send(box.box, box.senderToken, "two"), 2);
  await assert.rejects(client.space("nobody", "x"), HubRefused);
  await assert.rejects(client.send("nobody", "x", "gone"), { code: "denied" });
});

test("a stop waits for the handler and its ack, and hands over nothing more", async () => {
  const first = hub();
  const box = await first.create(CREATE);
  for (const body of ["one", "two"]) await first.send(box.box, box.senderToken, body);
  const got = [];
  let finish;
  await first.subscribe({ [box.box]: box.recipientToken }, (message) => {
    got.push(message.text);
    return new Promise((resolve) => (finish = resolve));
  });
  await until(() => finish, "the handler");
  const stopped = first.stop();
  finish();
  await stopped;
  await assert.rejects(first.send(box.box, box.senderToken, "three"), HubAway);
  const second = hub();
  await second.subscribe({ [box.box]: box.recipientToken }, (message) => got.push(message.text));
  await until(() => got.length === 2, "the second message");
  assert.deepEqual(got, ["one", "two"]);
});

test("a mailbox that is deleted or taken over is told", async () => {
  const ends = [];
  const client = hub({ onEnd: (box, why) => ends.push(`${box} ${why}`) });
  const [first, second] = [await client.create(CREATE), await client.create(CREATE)];
  await client.subscribe({ [first.box]: first.recipientToken, [second.box]: second.recipientToken }, () => {});
  await hub().subscribe({ [second.box]: second.recipientToken }, () => {});
  await until(() => ends.length === 1, "the first end");
  await server.ask("DELETE", `/v1/mailboxes/${first.box}`);
  await until(() => ends.length === 2, "the second end");
  assert.deepEqual(ends, [`${second.box} taken over`, `${first.box} deleted`]);
});

test("a server that is killed loses nothing, and nothing that was handled is handled again", async () => {
  const [sender, reader] = [hub(), hub()];
  const box = await sender.create(CREATE, { quota: 10_000 });
  const [accepted, got] = [[], []];
  await reader.subscribe({ [box.box]: box.recipientToken }, (message) => got.push(message.text));
  let enough = Infinity;
  const sends = (async () => {
    for (let n = 0; accepted.length < enough && n < 100_000; n++) {
      const body = `message ${n}`; // a doubtful one is never sent again under this name
      await sender.send(box.box, box.senderToken, body).then(() => accepted.push(body), () => {});
    }
  })();
  const road = new Postroad(server.url, { token: server.token, tries: 1_000, timeoutMs: 5_000 });
  await until(() => got.length > 20, "traffic");
  await server.kill();
  const receipt = road.send(NOWHERE, { while: "away" }, { key: "once" });
  enough = accepted.length + 20;
  await server.start();
  await sends;
  await until(() => accepted.every((body) => got.includes(body)), "all that was accepted");
  assert.deepEqual(got, [...new Set(got)]);
  assert.equal((await road.send(NOWHERE, { while: "away" }, { key: "once" })).id, (await receipt).id);
});

test("messages are sent over HTTP, and refusals have their reason", async () => {
  const road = new Postroad(`${server.url}/`, { token: server.token, tenant: "acme" });
  const receipt = await road.send(NOWHERE, { to: "ada" }, { key: "k", delay: 3600, priority: 2 });
  assert.equal(receipt.duplicate, false);
  assert.equal((await road.send(NOWHERE, { to: "ada" }, { key: "k", delay: 3600, priority: 2 })).id, receipt.id);
  assert.ok((await road.send(NOWHERE, new Uint8Array([0, 255]), { deliverAt: new Date(Date.now() + 9e6) })).id);
  await assert.rejects(new Postroad(server.url, { token: "wrong" }).send("q", 1), { name: "RequestFailed", status: 401 });
  await assert.rejects(road.send("", 1), { status: 400 });
  assert.throws(() => road.send("q", 1, { dely: 3 }), /there is no option dely/);
  const nobody = new Postroad("http://127.0.0.1:9", { tries: 2, timeoutMs: 5_000 });
  await assert.rejects(nobody.send("q", 1, { key: "a" }), (error) => error instanceof RequestFailed && error.status === 0);
});

test("what is published arrives, and is verified while a secret is rotated", async () => {
  const got = [];
  const receiver = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => response.end() && got.push([request.headers, Buffer.concat(parts)]));
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const road = new Postroad(server.url, { token: server.token });
  const url = `http://127.0.0.1:${receiver.address().port}/hook`;
  const endpoint = await server.ask("POST", "/v1/endpoints", { url });
  const rotated = await server.ask("POST", `/v1/endpoints/${endpoint.id}/rotate`, {});
  const receipt = await road.publish("order.paid", { total: 1 }, { key: "o1" });
  assert.equal(receipt.messages.length, 1);
  assert.equal((await road.publish("order.paid", { total: 1 }, { key: "o1" })).duplicate, true);
  await until(() => got.length === 1, "the webhook");
  const [headers, body] = got[0];
  for (const secret of [endpoint.secret, rotated.secret]) {
    assert.deepEqual(JSON.parse(await verify(secret, headers, body)), { total: 1 });
  }
  await assert.rejects(verify(endpoint.secret, headers, body.toString().replace("1", "2")), WebhookRefused);
  receiver.close();
  receiver.closeAllConnections();
});
