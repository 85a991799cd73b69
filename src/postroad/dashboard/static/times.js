// Times as people read them: ago or to go, with the whole time in a tooltip.
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

// By the server's clock: that of a browser may be wrong.
const [loaded] = performance.getEntriesByType("navigation");
const shown = Number(document.documentElement.dataset.now);
const aheadMs = shown && loaded ? shown - (Date.now() - performance.now() + loaded.responseStart) : 0;

function words(seconds) {
  const far = Math.abs(seconds);
  if (far < 1) return "now";
  const at = UNITS.findIndex(([, size]) => far >= size);
  const [unit, size] = UNITS[at];
  let text = `${Math.floor(far / size)} ${unit}`;
  const next = UNITS[at + 1];
  const rest = next ? Math.floor((far % size) / next[1]) : 0;
  if (rest && at < 2) text += ` ${rest} ${next[0]}`;
  return seconds > 0 ? `in ${text}` : `${text} ago`;
}

export function tell(root = document) {
  const now = Date.now() + aheadMs;
  for (const each of root.querySelectorAll("time[datetime]")) {
    const at = new Date(each.dateTime);
    const text = words((at - now) / 1000);
    if (each.textContent !== text) each.textContent = text;
    if (!each.title) each.title = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  }
}

export function start() {
  tell();
  setInterval(() => { if (!document.hidden) tell(); }, 1000);
}
