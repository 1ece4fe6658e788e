// Everything that an eye, or somebody without one, would stumble over in a page, each in a line.
const found = [], wide = document.documentElement.clientWidth;
const says = e => e.tagName.toLowerCase() + (e.className.baseVal === undefined && e.className ? "." + e.className : "");
const isSeen = e => { const r = e.getBoundingClientRect(); return r.width > 1 && r.height > 1; };
if (document.documentElement.scrollWidth > wide) found.push("scrolls sideways: " + document.documentElement.scrollWidth);
for (const e of document.body.querySelectorAll("*")) {
  const r = e.getBoundingClientRect();
  if (isSeen(e) && !e.closest("thead") && (r.right > wide + 1 || r.left < -1)) found.push("out of sight: " + says(e));
}
for (const e of document.querySelectorAll("time")) if (e.getClientRects().length > 1) found.push("a time is broken: " + e.textContent);
const numbers = c => c.match(/[\d.]+/g).map(Number);
const light = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor);
  if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
let texts = 0;
for (const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walk.nextNode();) {
  const e = walk.currentNode.parentElement;
  if (!walk.currentNode.data.trim() || ["SCRIPT", "title"].includes(e.tagName) || !isSeen(e)) continue;
  texts += 1;
  const style = getComputedStyle(e), size = parseFloat(style.fontSize);
  const [a, b] = [light(numbers(style.color).slice(0, 3)), light(behind(e))].sort((x, y) => y - x);
  const least = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < least) found.push("contrast " + ratio.toFixed(2) + ": " + says(e) + ": " + e.textContent.trim().slice(0, 40));
}
if (texts < 10) found.push("only " + texts + " texts were looked at");
for (const name of ["header", "main", "footer", "h1"])
  if (document.querySelectorAll(name).length !== 1) found.push(name + ": not one");
let level = 0;
for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
  const now = Number(h.tagName[1]);
  if (now > level + 1) found.push("a heading is left out before: " + h.textContent);
  level = now;
}
for (const s of document.querySelectorAll("section"))
  if (!document.getElementById(s.getAttribute("aria-labelledby"))?.textContent.trim()) found.push("a section has no name");
const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
if (new Set(ids).size !== ids.length) found.push("an id is there twice");
for (const e of document.querySelectorAll("svg")) if (!e.getAttribute("aria-label")) found.push("a picture has no words");
if (!document.documentElement.lang || !document.title) found.push("no language or title");
return found;
