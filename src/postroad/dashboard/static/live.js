// Live regions: one stream says which are stale; those are fetched and morphed. Nothing is asked for
// while the page is hidden. When the server is away the page says so, and comes back by itself.
import { morph } from "./morph.js";
import { tell } from "./times.js";

const RETRY_MAX_MS = 15000;
let source = null;
let retry = 0;
let waitMs = 1000;
let over = false;

const regions = () => [...document.querySelectorAll("[data-region]")];
const here = () => location.pathname + location.search;

const WORDS = { on: "Live", off: "Paused", away: "No answer", full: "Not live", refused: "Not live", ended: "Logged out" };

function show(state, why = "") {
  document.documentElement.dataset.live = state;
  for (const name of ["away", "full", "refused", "ended"]) {
    const told = document.getElementById(name);
    if (told) told.hidden = state !== name;
  }
  if (why) document.getElementById("refused").textContent = why;
  const word = document.querySelector("[data-live-word]");
  if (word) word.textContent = WORDS[state];
}

class Refused extends Error {}

async function refusal(answer) {  // none of ours is told by whatever answers in our place
  try { return (await answer.json()).detail ?? ""; } catch { return ""; }
}

export async function refresh(names) {
  const wanted = names ?? regions().map((each) => each.dataset.region);
  if (!wanted.length) return;
  const answer = await fetch(here(), { headers: { "postroad-region": wanted.join(",") } });
  if (answer.status === 401) return ended();
  if (!answer.ok) throw new Refused(await refusal(answer));
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const next of fresh.querySelectorAll("[data-region]")) {
    const old = document.querySelector(`[data-region="${next.dataset.region}"]`);
    if (old) morph(old, next);
  }
  tell();
  document.dispatchEvent(new Event("refreshed"));
}

const typed = (each) => /checkbox|radio/.test(each.type) ? each.checked !== each.defaultChecked : each.value !== each.defaultValue;

export function ended() {  // what was typed stays until somebody leaves the page
  if (![...document.querySelectorAll("main :is(input:not([type=hidden]), textarea)")].some(typed)) return location.assign("/login");
  over = true;
  close();
  show("ended");
}

function open() {
  if (over || source || document.hidden || !regions().length) return;
  clearTimeout(retry);
  const seen = regions().map((each) => `${each.dataset.region}:${each.dataset.tag}`).join(",");
  source = new EventSource("/live?" + new URLSearchParams({ page: here(), seen }));
  source.addEventListener("live", () => { waitMs = 1000; show("on"); });
  source.addEventListener("stale", (event) => refresh(JSON.parse(event.data)).catch(lost));
  source.addEventListener("full", () => {
    close();
    show("full");
    retry = setTimeout(open, RETRY_MAX_MS);
  });
  source.onerror = lost;
}

function close() {
  if (source) source.close();
  source = null;
  clearTimeout(retry);
}

async function lost() {
  close();
  if (document.hidden) return;
  try {  // the stream may have ended because the session has
    await refresh();
  } catch (error) {
    const why = error instanceof Refused ? error.message : "";
    show(why ? "refused" : "away", why);
  }
  clearTimeout(retry);
  if (over) return;
  retry = setTimeout(open, waitMs);
  waitMs = Math.min(waitMs * 2, RETRY_MAX_MS);
}

export function start() {
  if (!regions().length) return;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { close(); show("off"); } else { over = false; open(); }
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", open);
  open();
}
