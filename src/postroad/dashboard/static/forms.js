// Forms that need no other page: sent as they would be, and their answer is told in place.
import { ended, refresh } from "./live.js";

const TWICE_MS = 2000;  // a double click sends a form once
let last = {};

export function say(text, bad) {
  const old = document.getElementById("notice");
  const box = document.createElement("p");
  box.id = "notice";
  box.className = bad ? "notice bad" : "notice";
  box.setAttribute("role", bad ? "alert" : "status");
  box.textContent = text;
  if (old) old.replaceWith(box); else document.querySelector("main .top").after(box);
}

async function send(form, button) {
  const data = new URLSearchParams(new FormData(form, button));
  button.disabled = true;
  try {
    const answer = await fetch(button.getAttribute("formaction") || form.action, {
      method: "POST", body: data, headers: { "postroad-fetch": "1" },
    });
    if (answer.status === 401) return ended();
    const said = await answer.json();
    if (said.go && !said.bad) return location.assign(said.go);
    say(said.notice, said.bad);
    if (!said.bad) for (const each of form.querySelectorAll("[data-secret]")) each.value = "";
    form.closest("details")?.removeAttribute("open");
    await refresh().catch(() => {});  // what was done is done; the page says by itself why it is not fresh
  } catch {
    say("The server does not answer: nothing is known about what became of it.", true);
  } finally {
    button.disabled = false;
  }
}

function ticked(box) {
  const boxes = box.form.querySelectorAll("input[name=id]");
  if (box.hasAttribute("data-all")) for (const each of boxes) each.checked = box.checked;
  chosen();
}

function chosen() {
  const count = document.querySelectorAll("input[type=checkbox][name=id]:checked").length;
  for (const each of document.querySelectorAll("[data-chosen]")) each.textContent = count;
}

export function start() {
  document.addEventListener("submit", (event) => {
    const button = event.submitter;
    if (!event.target.matches("[data-quiet], [data-upload]")) {
      if (last.form === event.target && Date.now() - last.atMs < TWICE_MS) event.preventDefault();
      else last = { form: event.target, atMs: Date.now() };
      return;
    }
    if (!button || !event.target.hasAttribute("data-quiet")) return;
    event.preventDefault();
    send(event.target, button);
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("input[type=checkbox][name=id], input[data-all]")) ticked(event.target);
    if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  });
  document.addEventListener("refreshed", chosen);  // chosen rows may have left the page
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  });
}
