// A real server of this machine, for tests: it can be killed and started again.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const COMMAND = JSON.parse(process.env.POSTROAD_TEST_COMMAND ?? '["postroad"]');
const [API, HUB] = JSON.parse(process.env.POSTROAD_TEST_PORTS ?? "[18600, 18601]");
const ANSWER_MS = 120_000;

export const CREATE = "whoever has this makes mailboxes";

export class Server {
  url = `http://127.0.0.1:${API}`;
  hubUrl = `ws://127.0.0.1:${HUB}`;
  hubHttp = `http://127.0.0.1:${HUB}`;
  #folder = mkdtempSync(join(tmpdir(), "road-js-"));
  #process = null;
  #told = "";

  async start() {
    const settings = {
      hub_listen: `127.0.0.1:${HUB}`,
      hub_create_token: CREATE,
      "webhooks.http": "true",
      "webhooks.allow": "127.0.0.0/8",
      "webhooks.ports": "",
    };
    const words = Object.entries(settings).flatMap(([name, value]) => ["--set", `${name}=${value}`]);
    const given = ["up", "--listen", `127.0.0.1:${API}`, "--dsn", this.#dsn, ...words];
    this.#process = spawn(COMMAND[0], [...COMMAND.slice(1), ...given], { stdio: ["ignore", "ignore", "pipe"] });
    process.once("exit", () => this.#process.kill("SIGKILL"));
    this.#told = "";
    this.#process.stderr.on("data", (said) => (this.#told = (this.#told + said).slice(-2_000)));
    await Promise.all([this.#answers(this.url), this.#answers(this.hubHttp)]);
    this.token ??= this.#say("token", "make", "tests", "--everywhere").trim();
  }

  async kill(signal = "SIGKILL") {
    const ended = once(this.#process, "exit");
    this.#process.kill(signal);
    await ended;
  }

  async end() {
    await this.kill("SIGTERM");
    rmSync(this.#folder, { recursive: true });
  }

  async ask(method, path, data) {
    const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
    const answer = await fetch(this.url + path, { method, headers, body: data && JSON.stringify(data) });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? null : answer.json();
  }

  get #dsn() {
    return `sqlite:///${this.#folder}/road.db`;
  }

  #say(...words) {
    const given = [...COMMAND.slice(1), ...words, "--dsn", this.#dsn, "--json"];
    return JSON.parse(execFileSync(COMMAND[0], given, { encoding: "utf8" })).secret;
  }

  async #answers(url) {
    for (const until = Date.now() + ANSWER_MS; Date.now() < until; await sleep(20)) {
      if (this.#process.exitCode !== null) throw new Error(`the server ended: ${this.#told}`);
      const answer = await fetch(`${url}/healthz`).catch(() => null);
      if (answer?.ok) return;
    }
    throw new Error("the server does not answer");
  }
}

/** Wait until something holds; it is asked again and again. */
export async function until(holds, what) {
  for (const end = Date.now() + ANSWER_MS; Date.now() < end; await sleep(5)) if (await holds()) return;
  throw new Error(`not within ${ANSWER_MS} ms: ${what}`);
}
