// Verifies requests with the reference library: one JSON line in, one out.
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body } = JSON.parse(line);
  try {
    const told = new Webhook(secret).verify(Buffer.from(body, "base64"), headers);
    console.log(JSON.stringify({ body: told }));
  } catch (error) {
    console.log(JSON.stringify({ error: error.message }));
  }
}
