// Forms with a file: sent in the background, with how far it is. A cut leaves the file chosen, so that
// one press sends it again; nothing of a cut upload is stored.
import { say } from "./forms.js";
import { ended, refresh } from "./live.js";

const UNITS = ["bytes", "kB", "MB", "GB"];
let sending = null;

function size(bytes) {
  const at = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** at).toFixed(at ? 1 : 0)} ${UNITS[at]}`;
}

function shown(form) {
  const box = form.querySelector("[data-keep]");
  const bar = document.createElement("progress");
  const text = document.createElement("span");
  const stop = document.createElement("button");
  bar.max = 1;
  bar.setAttribute("aria-label", "Upload");
  text.className = "soft small";
  stop.type = "button";
  stop.className = "small";
  stop.textContent = "Stop the upload";
  stop.onclick = () => sending.abort();
  box.replaceChildren(bar, text, stop);
  return { bar, text, stop, end: () => box.replaceChildren() };
}

function follow(state, began) {
  return ({ loaded, total }) => {
    const left = (total - loaded) * (Date.now() - began) / Math.max(1, loaded) / 1000;
    state.bar.value = loaded / total;
    state.text.textContent = `${size(loaded)} of ${size(total)}` + (left > 2 ? `, about ${Math.ceil(left)} s to go` : "");
  };
}

function storing(state) {  // from here on the server goes on by itself
  state.bar.removeAttribute("value");
  state.text.textContent = "It is uploaded. Its lines are checked and stored; this page may be closed.";
  state.stop.remove();
}

async function told(request, form) {
  if (request.status === 401) return ended();
  let said = { notice: `The server refused the file (${request.status}).`, bad: true };
  try { said = JSON.parse(request.responseText); } catch { /* a proxy's own page */ }
  const bad = said.bad ?? true;
  say(said.notice ?? said.detail, bad);
  if (!bad) form.reset();
  await refresh().catch(() => {});  // the page says by itself when the server is away
}

function lost(stored) {
  say(stored
    ? "The server went away while it stored the lines. Upload the same file again: it goes on from there."
    : "The upload broke off, and nothing of it was stored. The file is still chosen: press Upload to send it again.", true);
}

function send(form) {
  const { name, size: bytes } = form.querySelector("input[type=file]").files[0];
  const most = Number(form.dataset.upload);
  if (bytes > most) return say(`${name} has ${size(bytes)}, and a file may have ${size(most)}: send it in parts.`, true);
  document.getElementById("notice")?.remove();  // what it says is of another upload
  const state = shown(form);
  const request = sending = new XMLHttpRequest();
  request.upload.onprogress = follow(state, Date.now());
  request.upload.onload = () => storing(state);
  request.onloadend = () => { state.end(); sending = null; };
  request.onload = () => told(request, form);
  request.onerror = () => lost(!state.stop.isConnected);
  request.onabort = () => say("The upload was stopped, and nothing of it was stored.", true);
  request.open("POST", form.action);
  request.setRequestHeader("postroad-fetch", "1");
  request.send(new FormData(form));
}

export function start() {
  document.addEventListener("submit", (event) => {
    if (!event.target.hasAttribute("data-upload")) return;
    event.preventDefault();
    if (!sending) send(event.target);
  });
  addEventListener("beforeunload", (event) => {
    if (document.querySelector("[data-upload] [data-keep] button")) event.preventDefault();
  });
}
