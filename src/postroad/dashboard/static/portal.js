// The one module of the portal. The code of the link stands after the `#`, which no browser sends:
// it is exchanged once for a token, kept for this tab and sent as a header with each request.
import { start as startTimes, tell } from "./times.js";

const { base, away, copied } = document.body.dataset;
const page = document.getElementById("page");
const main = document.getElementById("main");
const nav = document.querySelector("nav");
const FIRST = "/endpoints";
let token = "";
let asked = 0;
let told = false;  // what a form did is said on the page that it leads to

function keep(text) {
  token = text;
  try {  // a browser may forbid storage to frames: then a reload needs another link
    if (text) sessionStorage.setItem(base, text); else sessionStorage.removeItem(base);
  } catch {  // the token stays in memory
    document.getElementById("unkept").hidden = !text;
  }
}

function kept() {
  try { return sessionStorage.getItem(base) ?? ""; } catch { return ""; }
}

function show(id) {
  nav.hidden = true;
  page.replaceChildren(document.getElementById(id).content.cloneNode(true));
}

function say(text, bad = false) {
  const box = document.getElementById("notice");
  box.className = bad ? "notice bad" : "notice";
  box.textContent = text;
  box.hidden = !text;
}

async function ask(path, options = {}) {
  const answer = await fetch(base + path, { ...options, headers: { authorization: `Bearer ${token}` } });
  if (answer.status === 401) {
    keep("");
    show("gone");
    return null;
  }
  return answer;
}

function refusal(text) {  // a proxy in between may answer with a page of its own
  try { return JSON.parse(text).detail ?? away; } catch { return away; }
}

function put(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html");
  page.replaceChildren(...fresh.body.childNodes);
  tell(page);
}

async function load(focus = true) {
  const place = location.hash.startsWith("#/") ? location.hash.slice(1) : FIRST;
  const number = ++asked;
  let answer, text;
  try {
    answer = await ask("/pages" + place);
    text = await answer?.text();
  } catch {
    return say(away, true);
  }
  if (!answer || number !== asked) return;
  if (!answer.ok) return say(refusal(text), true);
  put(text);
  page.dataset.shown = place;
  nav.hidden = false;
  for (const each of nav.querySelectorAll("a")) {
    const here = place.split(/[/?]/)[1].replace("new", "endpoints") === each.dataset.page;
    if (here) each.setAttribute("aria-current", "page"); else each.removeAttribute("aria-current");
  }
  if (focus) main.focus();
  return true;
}

async function send(form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  button.disabled = true;
  try {
    const answer = await ask("/do/" + form.dataset.do, { method: "POST", body });
    if (!answer) return;
    const said = await answer.json();
    const text = said.said ?? said.detail;
    if (said.bad || !answer.ok) return say(text, true);
    if (said.html) { put(said.html); say(""); main.focus(); }
    else if (said.go && location.hash !== "#" + said.go) { say(text); told = true; location.hash = said.go; }
    else if (await load(false)) say(text);  // with the new page: what is opened on the old one is lost
  } catch {
    say(away, true);
  } finally {
    button.disabled = false;
  }
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.target;
  if (form.dataset.find) {
    location.hash = `${form.dataset.find}?${new URLSearchParams(new FormData(form))}`;
  } else if (form.dataset.do) send(form, event.submitter ?? form.querySelector("button"));
});

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-skip], a[data-go]");
  if (link?.matches("[data-skip]")) { event.preventDefault(); main.focus(); }
  if (link?.matches("[data-go]") && link.getAttribute("href") === location.hash) { event.preventDefault(); load(); }
  if (event.target.closest("[data-again]")) open();
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const shown = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(shown.textContent);
    button.textContent = copied;
  } catch {  // a frame may not: then it is chosen, to be copied by hand
    getSelection().selectAllChildren(shown);
  }
});

addEventListener("hashchange", () => {
  if (!token) return;
  if (!told) say("");
  told = false;
  load();
});

async function open() {
  const code = location.hash.startsWith("#prt_") ? location.hash.slice(1) : "";
  token = kept();
  if (!token) {
    if (!code) return show("gone");
    let answer;
    try {
      answer = await fetch("/v1/portal-sessions", {
        method: "POST", body: JSON.stringify({ code }), headers: { "content-type": "application/json" },
      });
    } catch {
      return show("lost");
    }
    if (answer.status >= 429) return show("lost");
    if (!answer.ok) { history.replaceState(null, "", base); return show("gone"); }
    try {
      keep((await answer.json()).secret);
    } catch {
      return show("lost");
    }
  }
  if (code) history.replaceState(null, "", base + "#" + FIRST);  // the code is used: it need not stay
  await load(false);
}

startTimes();
open();
