// Makes a part of the page like another one, and keeps what people have at hand: focus, what they
// typed and ticked, what they opened, and where they scrolled to.

function alike(old, fresh) {
  return old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName &&
    keyOf(old) === keyOf(fresh);
}

function keyOf(node) {  // not `node.id`: of a form that has a field "id", that is the field
  return node.nodeType === 1 ? node.getAttribute("data-key") || node.getAttribute("id") || "" : "";
}

function attributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    const kept = name === "open" || (name === "title" && old.nodeName === "TIME");
    if (!fresh.hasAttribute(name) && !kept) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) {
      old.setAttribute(name, value);
      if (name === "datetime") old.removeAttribute("title");
    }
  }
}

export function morph(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  const same = old.nodeName === "TIME" && old.getAttribute("datetime") === fresh.getAttribute("datetime");
  attributes(old, fresh);
  if (same || old.hasAttribute("data-keep")) return;  // its text is told by the page
  children(old, fresh);
}

function children(old, fresh) {
  const keyed = new Map();
  for (const each of old.children) if (keyOf(each)) keyed.set(keyOf(each), each);
  let at = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    const known = keyOf(next) && keyed.get(keyOf(next));
    if (known && known !== at) {
      old.insertBefore(known, at);
      morph(known, next);
    } else if (at && alike(at, next)) {
      morph(at, next);
      at = at.nextSibling;
    } else {
      old.insertBefore(document.importNode(next, true), at);
    }
  }
  while (at) {
    const after = at.nextSibling;
    at.remove();
    at = after;
  }
}
