"""Whether a page can be read by everybody: axe, and nothing cut off or on top of something else."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

PHONE = {"width": 360, "height": 740}
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
    """On a phone all of a page can be seen; afterwards it is as wide as before."""
    wide = page.viewport_size
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    wrong = page.evaluate(WRONG)
    if wide:
        page.set_viewport_size(wide)
    assert wrong == [], f"{page.url}: " + "\n".join(wrong)
