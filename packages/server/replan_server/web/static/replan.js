// Signs in with the token of the address, and keeps the page current: a stream says that something has changed, and htmx
// fetches the page again and puts its part `#live` in place, where the page is older than what the stream says. The stream
// is closed while nobody sees the page.
(function () {
  "use strict";

  var form = document.getElementById("sign-in");

  // The address with the token is opened, or pasted into the tab that asks for it, which loads nothing.
  function signIn() {
    if (!form || location.hash.length < 2) return false;
    form.elements.token.value = location.hash.slice(1);
    history.replaceState(null, "", location.pathname);
    form.submit();
    return true;
  }

  if (form) window.addEventListener("hashchange", signIn);
  if (signIn()) return;

  // The page of a long run has come in two parts; the second one says all that the first one says.
  var beginning = document.getElementById("beginning");
  if (beginning) beginning.remove();

  // The timeline is as wide as its window times this; what one looks at stays where it is.
  var zoom = 1, left = 0;

  function zoomed() {
    var part = document.getElementById("timeline");
    if (!part) return;
    document.getElementById("zooms").hidden = false;
    part.firstElementChild.style.width = 100 * zoom + "%";
    part.scrollLeft = left;
  }

  function zoomBy(factor, at) {
    var part = document.getElementById("timeline"), before = zoom;
    zoom = factor ? Math.min(64, Math.max(1, zoom * factor)) : 1;
    left = (part.scrollLeft + at) * zoom / before - at;
    zoomed();
  }

  document.addEventListener("keydown", function (event) {
    var factor = { "+": 2, "=": 2, "-": 0.5, "0": 0 }[event.key];
    if (event.target.id !== "timeline" || factor === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    zoomBy(factor, event.target.clientWidth / 2);
  });
  document.addEventListener("click", function (event) {
    var factor = event.target.dataset && event.target.dataset.zoom;
    if (factor) zoomBy(Number(factor), document.getElementById("timeline").clientWidth / 2);
  });
  document.addEventListener("wheel", function (event) {
    var part = event.target.closest && event.target.closest("#timeline");
    if (!part || !event.ctrlKey) return;
    event.preventDefault();
    zoomBy(event.deltaY < 0 ? 1.25 : 0.8, event.clientX - part.getBoundingClientRect().left);
  }, { passive: false });
  document.addEventListener("scroll", function (event) { if (event.target.id === "timeline") left = event.target.scrollLeft; }, true);
  document.addEventListener("htmx:afterSwap", zoomed);
  zoomed();

  var address = document.body.dataset.live;
  if (!address || !window.EventSource || !window.htmx) return;
  var source = null, cursor = "", pending = false, busy = false, retry = 0;
  var offline = document.getElementById("offline");

  // What was done is said for some seconds at least, and until something has happened since. A page that is opened again
  // does not say it again.
  var notice = document.getElementById("notice"), loaded = performance.now(), live = document.getElementById("live");
  var first = live ? live.dataset.cursor : "";

  function outdated() {
    if (!notice) return;
    setTimeout(function (old) { old.remove(); }, Math.max(0, loaded + 4000 - performance.now()), notice);
    notice = null;
  }
  if (notice && live) {
    history.replaceState(history.state, "", shown() + location.hash);
    if (notice.dataset.allRead) outdated();
  }

  // The address without what was done before.
  function shown() {
    return location.pathname + location.search.replace(/([?&])done=\w+&?/, "$1").replace(/[?&]$/, "");
  }

  // Tells whether the page shows another tab than its address names.
  function elsewhere(live) {
    return live && live.dataset.tab && live.dataset.tab !== (new URLSearchParams(location.search).get("tab") || "plan");
  }

  // Tells whether the page shows less than the stream has told: each part `#live` says up to where it goes.
  function stale() {
    var live = document.getElementById("live");
    return !live || live.dataset.cursor !== cursor || elsewhere(live);
  }

  // A tab is opened in place, so that nothing is lost that was typed. Without scripts, its link loads the page.
  document.addEventListener("click", function (event) {
    var tab = event.target.closest("a[data-tab]");
    if (!tab || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    history.pushState(null, "", tab.href);
    refresh();
  });
  window.addEventListener("popstate", function () { if (elsewhere(document.getElementById("live"))) refresh(); });

  function refresh() {
    if (busy || document.hidden) { pending = true; return; }
    busy = true; pending = false;
    var begun = performance.now();
    htmx.ajax("GET", shown(), {
      source: document.getElementById("live"), target: "#live", select: "#live", swap: "outerHTML"
    }).catch(function () {}).finally(function () {
      busy = false;
      // A page that takes long is fetched less often, so that it can be used meanwhile.
      if (pending) setTimeout(function () { if (stale()) refresh(); }, Math.max(100, performance.now() - begun));
    });
  }

  function told(event) {
    cursor = event.lastEventId;
    offline.hidden = true;
    retry = 0;
    if (stale()) refresh();
    if (cursor !== first) outdated();
  }

  // A reply in progress grows where it stands, and its end stays in sight.
  function write(event) {
    var reply = JSON.parse(event.data), part = document.getElementById("reply-" + reply.request_id);
    if (!part) return;
    var follows = part.hidden || part.scrollTop + part.clientHeight >= part.scrollHeight - 40;
    part.textContent = reply.text;
    part.hidden = !reply.text;
    document.getElementById("count-" + reply.request_id).textContent = ", " + reply.characters.toLocaleString("en") + " characters so far";
    if (follows) part.scrollTop = part.scrollHeight;
  }

  function toEnds() {
    document.querySelectorAll(".reply-text").forEach(function (part) { part.scrollTop = part.scrollHeight; });
  }
  document.addEventListener("htmx:afterSwap", toEnds);
  toEnds();

  // What is under way gets older while nothing else changes.
  setInterval(function () {
    document.querySelectorAll("[data-age]").forEach(function (part) {
      part.shown = part.shown || performance.now();
      var age = Math.floor(Number(part.dataset.age) + (performance.now() - part.shown) / 1000);
      part.textContent = age < 60 ? age + "s" : age < 3600 ? Math.floor(age / 60) + "m" : Math.floor(age / 3600) + "h";
    });
  }, 1000);

  function open() {
    if (source || document.hidden) return;
    source = new EventSource(address);
    source.addEventListener("at", told);
    source.addEventListener("changed", told);
    source.addEventListener("reply", write);
    source.addEventListener("gone", function () { location.assign("/runs"); });
    source.onerror = function () {
      var ended = source.readyState === EventSource.CLOSED;
      offline.hidden = false;
      if (!ended) return;
      close();
      refresh();  // A session that has ended leads to the page for signing in.
      retry = Math.min(retry + 1, 30);
      setTimeout(open, 1000 * retry);
    };
  }

  function close() {
    if (source) source.close();
    source = null;
  }

  // What a person has opened or folded stays so after the page was renewed, and keeps the focus.
  var opened = {}, held = "";
  document.addEventListener("htmx:beforeSwap", function () {
    var focused = document.activeElement;
    held = focused && focused.tagName === "SUMMARY" ? focused.parentElement.id : "";
    // The event `toggle` comes later than the click, and never if the part is replaced before.
    document.querySelectorAll("details[id]").forEach(function (part) {
      if (part.open || part.id in opened) opened[part.id] = part.open;
    });
  });
  document.addEventListener("toggle", function (event) {
    if (event.target.id) opened[event.target.id] = event.target.open;
  }, true);
  document.addEventListener("htmx:afterSwap", function () {
    Object.keys(opened).forEach(function (id) { var part = document.getElementById(id); if (part) part.open = opened[id]; });
    var part = held && document.getElementById(held);
    if (part) part.firstElementChild.focus({ preventScroll: true });
  });

  document.addEventListener("visibilitychange", function () { if (document.hidden) close(); else { open(); if (pending) refresh(); } });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", open);
  open();
})();
