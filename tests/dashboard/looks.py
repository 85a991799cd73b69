"""Whether a page can be read by everybody: axe, and nothing cut off or on top of something else."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SMALL = ((320, 640), (360, 740), (768, 1024))
"""Phones and a tablet, held upright."""
WRONG = """async () => {
  for (let n = 0; n < 3; n++) await new Promise(requestAnimationFrame);  // how far it scrolls is known
  const wrong = [];
  const name = (each) => `${each.tagName} ${(each.textContent || each.value || "").trim().slice(0, 40)}`;
  if (document.documentElement.scrollWidth > innerWidth)
    wrong.push(`the page is ${document.documentElement.scrollWidth} wide`);
  const shown = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const own = node.parentElement;
    if (!node.data.trim() || own.closest("script, option, noscript, .sr, .skip, [hidden]")) continue;
    if (!own.checkVisibility({ visibilityProperty: true })) continue;
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const seen = { left, right, top, bottom, own };
      if (within(own, seen) && right > left) shown.push(seen);
    }
  }
  function within(own, seen) {  // false where it has to be scrolled to
    for (let each = own; each !== document.documentElement; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (style.display === "inline" || style.overflowX === "visible") continue;
      const box = each.getBoundingClientRect();
      if (/auto|scroll/.test(style.overflowX + style.overflowY)) {
        seen.left = Math.max(seen.left, box.left);
        seen.right = Math.min(seen.right, box.right);
        seen.top = Math.max(seen.top, box.top);
        seen.bottom = Math.min(seen.bottom, box.bottom);
        if (seen.left >= seen.right || seen.top >= seen.bottom) return false;
      } else if (style.textOverflow === "ellipsis") {
        seen.right = Math.min(seen.right, box.right);
        if (seen.left >= seen.right) return false;
      } else if (seen.right > box.right + 1 || seen.left < box.left - 1) {
        wrong.push(`cut off by ${each.tagName}.${each.className}: ${name(own)}`);
        return false;
      }
    }
    return true;
  }
  for (const [n, one] of shown.entries())
    for (const other of shown.slice(n + 1)) {
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      if (one.own !== other.own && wide > 2 && high > 6)
        wrong.push(`${name(one.own)} is on ${name(other.own)}`);
    }
  const controls = [...document.querySelectorAll("button, a.button, a.item, input:not([type=hidden]), select, textarea, summary")]
    .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.closest(".sr, [hidden]"));
  for (const [n, one] of controls.entries())
    for (const other of controls.slice(n + 1)) {
      const [a, b] = [one.getBoundingClientRect(), other.getBoundingClientRect()];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 2 && high > 2 && !one.contains(other) && !other.contains(one))
        wrong.push(`control ${name(one)} is on ${name(other)}`);
    }
  for (const each of document.querySelectorAll("main button, main a.button, main input, main select, main textarea")) {
    const box = each.getBoundingClientRect();
    if (each.checkVisibility() && !each.closest(".table, .sr, [hidden]") && (box.right > innerWidth + 1 || box.left < -1))
      wrong.push(`cut off: ${name(each)}`);
  }
  for (const each of document.querySelectorAll(".table"))
    if (each.scrollWidth > each.clientWidth && each.checkVisibility() && getComputedStyle(each).boxShadow === "none")
      wrong.push(`nothing tells that it can be scrolled: ${each.getAttribute("aria-label")}`);
  return [...new Set(wrong)];
}"""
"""What of a page is cut off, stands on something else, or can be scrolled unnoticed."""


def check_access(page: Page, part: str | None = None) -> None:
    """Axe finds nothing that shuts people out, on a page or in a part of it."""
    found = Axe().run(page, part)
    assert found.violations_count == 0, found.generate_report()


def check_phone(page: Page) -> None:
    """On phones and a tablet all of a page can be seen; afterwards it is as wide as before."""
    before = page.viewport_size
    for width, height in SMALL:
        page.set_viewport_size({"width": width, "height": height})
        wrong = page.evaluate(WRONG)
        assert wrong == [], f"{page.url}, {width} wide: " + "\n".join(wrong)
    if before:
        page.set_viewport_size(before)
