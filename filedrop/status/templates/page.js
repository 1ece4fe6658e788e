(function () {
  var stale = document.getElementById("stale"), written = Date.parse(stale.dataset.written);
  var words = document.getElementById("words"), found = document.getElementById("found"), used = Date.now();
  var guide = document.querySelector("details"), before = new URLSearchParams(location.hash.slice(1));
  function look() {
    var minutes = Math.floor((Date.now() - written) / 60000);
    stale.hidden = !(minutes >= stale.dataset.old);
    if (!stale.hidden) {
      stale.textContent = minutes < 120 ? stale.dataset.minutes.replace("{number}", minutes)
        : stale.dataset.hours.replace("{number}", Math.floor(minutes / 60));
    }
    if (written && Date.now() - used >= 60000) reload();
  }
  function reload() {
    var now = "#only=" + encodeURIComponent(words.value) + (guide && guide.open ? "&guide" : "");
    if (now !== "#only=" || location.hash) location.replace(now); // the new page reads it
    location.reload();
  }
  function has(element, wanted) {
    return !element || element.textContent.toLowerCase().indexOf(wanted) >= 0;
  }
  function filter() {
    var wanted = words.value.trim().toLowerCase(), number = 0;
    document.querySelectorAll("main tbody tr, main article, .things li").forEach(function (row) {
      var around = row.localName === "li" && row.closest("article").querySelector("h3");
      row.hidden = !has(row, wanted) && !(around && has(around, wanted));
      number += !row.hidden && row.localName !== "article";
    });
    found.textContent = wanted ? (number ? found.dataset.some.replace("{number}", number) : found.dataset.none) : "";
  }
  document.getElementById("filter").hidden = false;
  words.addEventListener("input", function () { used = Date.now(); filter(); });
  words.value = before.get("only") || "";
  if (guide) guide.open = before.has("guide");
  if (words.value) filter();
  look();
  setInterval(look, 10000);
})();
