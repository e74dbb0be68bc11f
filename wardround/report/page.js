"use strict";
(() => {
  const every = (chosen, from = document) => [...from.querySelectorAll(chosen)];

  // What an address names is opened, wherever it is folded away.
  function reveal() {
    const place = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    for (let at = place; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    place.scrollIntoView();
  }
  addEventListener("hashchange", reveal);
  reveal();

  // A table of a page without a server is filtered and sorted here.
  function filters(form) {
    const rows = every("#case-list tbody tr"), told = form.querySelector("[role=status]"), texts = new Map();
    const section = row => row.dataset.at && document.getElementById(row.dataset.at);
    function text(row) {
      if (!texts.has(row)) texts.set(row, `${row.textContent} ${section(row)?.textContent || ""}`.toLowerCase());
      return texts.get(row);
    }
    function filter() {
      const words = form.q.value.toLowerCase().split(/\s+/).filter(Boolean), end = form.end.value;
      let shown = 0;
      for (const row of rows) {
        const fits = (!end || row.dataset.end === end) && words.every(word => text(row).includes(word));
        row.hidden = !fits;
        const its = section(row);
        if (its) its.hidden = !fits;
        shown += fits;
      }
      told.textContent = words.length || end ? `${shown} of ${rows.length} cases` : "";
    }
    let waiting = 0;  // while somebody types, for a large page is laid out anew
    form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 150); });
    form.addEventListener("submit", event => { event.preventDefault(); filter(); });
    filter();
  }
  function sort(button) {
    const head = button.closest("th"), body = head.closest("table").tBodies[0], at = head.cellIndex;
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const numbers = !head.classList.contains("key");
    const text = row => row.cells[at].textContent;
    const value = row => numbers ? parseFloat(text(row).replaceAll(",", "")) : text(row);
    const order = (one, other) => {
      if (!numbers) return one.localeCompare(other);
      return Number.isNaN(one) || Number.isNaN(other) ? Number.isNaN(one) - Number.isNaN(other) : one - other;
    };
    const keyed = [...body.rows].map(row => [value(row), row]);
    keyed.sort(([one], [other]) => {
      const found = order(one, other), last = numbers && (Number.isNaN(one) || Number.isNaN(other));
      return down && !last ? -found : found;
    });
    body.append(...keyed.map(([, row]) => row));
  }
  every("form[data-filter]").forEach(filters);
  addEventListener("click", event => { const button = event.target.closest("th button"); if (button) sort(button); });

  // Keys, unless they are switched off or somebody is writing.
  const KEPT = "wardround-keys", box = document.getElementById("keys-on");
  try { if (box && localStorage.getItem(KEPT) === "off") box.checked = false; } catch { /* nothing can be kept here */ }
  box?.addEventListener("change", () => {
    try { localStorage.setItem(KEPT, box.checked ? "on" : "off"); } catch { /* as above */ }
  });
  function step(by) {
    const link = document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]");
    if (link) { link.click(); return; }
    const cases = every("section.case").filter(one => !one.hidden);
    const past = cases.filter(one => one.getBoundingClientRect().top < (by > 0 ? 40 : -1)).length;
    const next = cases[by > 0 ? past : past - 1];
    if (next) { next.scrollIntoView({behavior: "instant"}); next.tabIndex = -1; next.focus({preventScroll: true}); }
  }
  addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !box?.checked) return;
    if (event.target.closest("input, select, textarea")) { if (event.key === "Escape") event.target.blur(); return; }
    if (event.key === "/") { event.preventDefault(); document.querySelector("input[type=search]")?.focus(); }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "u") document.querySelector("a[rel=up]")?.click();
    else if (event.key === "o") {
      const folded = every("main details"), open = folded.some(one => !one.open);
      for (const one of folded) one.open = open;
    }
  });

  // A page of what still goes on is fetched again; what was open, chosen or being written stays.
  const seconds = Number(document.body.dataset.again);
  let stamp = document.body.dataset.stamp || "";
  async function again() {
    try {
      const answer = await fetch(location.href.split("#")[0], {headers: {"If-None-Match": stamp}});
      if (answer.status === 200) {
        const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
        const open = every("main details[open][id]").map(one => one.id), at = document.activeElement?.id;
        const busy = document.activeElement?.closest("main form");
        if (!busy) {
          stamp = fresh.body.dataset.stamp || "";
          document.querySelector("main").replaceWith(fresh.querySelector("main"));
          for (const id of open) document.getElementById(id)?.setAttribute("open", "");
          if (at) document.getElementById(at)?.focus({preventScroll: true});
        }
        if (!Number(fresh.body.dataset.again)) return;
      }
    } catch { /* the server has gone, or comes again */ }
    setTimeout(again, seconds * 1000);
  }
  if (seconds) setTimeout(again, seconds * 1000);
})();
