// Keys: `/` goes to the search, `g` and a letter to a page, `j` and `k` over rows, `Escape` closes,
// `?` tells them all.
let went = false;

function typing(target) {
  return target.closest("input, select, textarea, [contenteditable]");
}

function step(by) {
  const links = [...document.querySelectorAll("main tbody tr a.row-link")];
  if (!links.length) return;
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at + by))].focus();
}

export function start() {
  const help = document.getElementById("keys");
  const button = document.querySelector("[data-keys]");
  button.hidden = false;
  button.addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      for (const each of document.querySelectorAll("details.menu[open], details.confirm[open]")) each.open = false;
      return;
    }
    if (typing(event.target) || help.open) return;
    if (went) {
      went = false;
      const link = document.querySelector(`nav [data-go="${CSS.escape(event.key)}"]`);
      if (link) { event.preventDefault(); link.click(); }
      return;
    }
    if (event.key === "g") went = true;
    else if (event.key === "?") help.showModal();
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "/") {
      const search = document.querySelector("[data-search]");
      if (search) { event.preventDefault(); search.focus(); }
    }
  });
}
