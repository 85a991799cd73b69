import { Hub, HubRefused, MailboxFull, Postroad, RequestFailed, verify, type Message } from "postroad";

const hub = new Hub("wss://hub.example.com", { onEnd: (box, why) => console.log(box.length + why.length), waitMs: 5 });
const refused: string[] = await hub.subscribe({ box: "token" }, async (message: Message) => {
  const order = message.json<{ total: number }>();
  console.log(order.total.toFixed(2), message.at.getTime(), message.bytes.byteLength, message.text.length);
});
try {
  const id: number = await hub.send(refused[0] ?? "box", "token", { total: 3 });
  await hub.send("box", "token", new Uint8Array([id]));
} catch (error) {
  if (error instanceof MailboxFull) await hub.space(error.box, "token");
  if (error instanceof HubRefused) console.log(error.code.length);
}
await hub.stop({ waitMs: 1_000 });

const road = new Postroad("https://road.example.com", { token: "t", tenant: "acme" });
const receipt = await road.send("https://shop.example.com/hook", { id: 1 }, { key: "a", deliverAt: new Date() });
const published = await road.publish("order.paid", { id: 1 }, { channels: ["eu"] });
const ids: string[] = [receipt.id, ...published.messages];
try {
  const body: string = await verify(["whsec_a", "whsec_b"], new Headers(), ids.join(), { toleranceS: 60 });
  console.log(body.length);
} catch (error) {
  if (error instanceof RequestFailed) console.log(error.problem.detail, error.retryAfterMs);
}

// @ts-expect-error an option that is none
void road.send("q", 1, { dely: 3 });
// @ts-expect-error a token is a text
void hub.subscribe({ box: 3 }, () => {});
