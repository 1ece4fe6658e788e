(function () {
  var box = document.getElementById("stale");
  function look() {
    var minutes = Math.floor((Date.now() - Date.parse(box.dataset.written)) / 60000);
    box.hidden = !(minutes >= 5);
    if (box.hidden) return;
    box.textContent = "This page is " + (minutes < 120 ? minutes + " minutes" : Math.floor(minutes / 60) + " hours") +
      " old. Reload it; if that doesn’t help, filedrop isn’t running or can’t write here, and what follows may be over.";
  }
  look();
  setInterval(look, 20000);
})();
