// What a refresh does to the page: cells change in place, nothing moves, nothing under the reader's hands is touched.
// A part marks its rows with data-key (in a data-rows body) and its other changing pieces with data-live.
(() => {
  "use strict";
  const waiting = new Map();

  const keyed = (root, name) => new Map([...root.querySelectorAll(`[data-${name}]`)].map((one) => [one.dataset[name], one]));

  // Ages count by themselves, form tokens differ each time, and what needs a script was shown by one: two cells that
  // differ only in them are the same.
  function fingerprint(element) {
    const copy = element.cloneNode(true);
    for (const time of copy.querySelectorAll("time")) time.replaceWith(time.dateTime);
    for (const token of copy.querySelectorAll("input[name=csrfmiddlewaretoken]")) token.remove();
    for (const control of copy.querySelectorAll("[data-needs-script]")) control.hidden = false;
    return copy.innerHTML;
  }

  function isInUse(element) {
    const selection = getSelection();
    const isSelected = selection.rangeCount && !selection.isCollapsed && selection.containsNode(element, true);
    return isSelected || element.contains(document.activeElement) || element.querySelector("details[open], dialog[open], :checked");
  }

  function update(element, fresh) {
    if (fingerprint(element) === fingerprint(fresh) || isInUse(element)) return false;
    element.className = fresh.className;
    element.replaceChildren(...fresh.cloneNode(true).childNodes);
    return true;
  }

  function updateRow(row, fresh) {
    const cells = [...row.children].filter((cell, at) => fresh.children[at] && update(cell, fresh.children[at]));
    if (!cells.length) return;
    row.className = fresh.className;
    row.classList.add("is-changed");
    setTimeout(() => row.classList.remove("is-changed"), 10_000);
  }

  // Rows that were pushed off the end of a full page have not left the list; the others have.
  function markGone(rows, fresh, isFull) {
    const all = [...rows.values()];
    const last = all.findLastIndex((row) => fresh.has(row.dataset.key));
    all.forEach((row, at) => row.classList.toggle("is-gone", !fresh.has(row.dataset.key) && (at < last || !isFull)));
  }

  function offer(part, count) {
    const place = part.querySelector("[data-new-rows]");
    if (!place) return;
    const text = count ? (count === 1 ? place.dataset.wordOne : place.dataset.wordMany).replace("%(count)s", count) : "";
    place.hidden = count === 0;
    if (place.textContent !== text) place.replaceChildren(...(count ? [showButton(text)] : []));
  }

  function showButton(text) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: "btn", textContent: text });
    button.dataset.showRows = "";
    return button;
  }

  function mergeRows(body, incoming) {
    const [rows, fresh] = [keyed(body, "key"), keyed(incoming, "key")];
    rows.forEach((row, key) => fresh.has(key) && updateRow(row, fresh.get(key)));
    markGone(rows, fresh, fresh.size >= Number(body.dataset.full || Infinity));
    waiting.set(body, [...fresh.values()]);
    return [...fresh.keys()].filter((key) => !rows.has(key)).length;
  }

  function merge(part, fragment) {
    const pieces = keyed(fragment, "live");
    for (const [name, piece] of keyed(part, "live")) if (pieces.has(name)) update(piece, pieces.get(name));
    let count = 0;
    for (const body of part.querySelectorAll("[data-rows]")) {
      const incoming = fragment.querySelector(`[data-rows="${CSS.escape(body.dataset.rows)}"]`);
      if (incoming) count += mergeRows(body, incoming);
    }
    offer(part, count);
  }

  // A box stands for what its person saw, so the ticked one itself moves over to the fresh row.
  function keepTicks(body, rows) {
    for (const box of body.querySelectorAll("input:checked")) {
      const row = rows.find((one) => one.dataset.key === box.closest("[data-key]").dataset.key);
      row?.querySelector("input[type=checkbox]")?.replaceWith(box);
    }
  }

  // Only on request do rows come and go; then the list is as the server last gave it.
  function showRows(place) {
    waiting.forEach((rows, body) => {
      keepTicks(body, rows);
      body.replaceChildren(...rows);
      body.closest("table").hidden = false;
    });
    for (const empty of document.querySelectorAll("[data-empty]")) empty.hidden = true;
    waiting.clear();
    place.hidden = true;
    place.replaceChildren();
    document.querySelector("[data-row-link]")?.focus();
    document.dispatchEvent(new Event("opsboard:refreshed"));
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-show-rows]")) showRows(event.target.closest("[data-new-rows]"));
  });

  htmx.defineExtension("live", {
    isInlineSwap: (style) => style === "live",
    handleSwap(style, target, fragment) {
      if (style !== "live") return false;
      const signedOut = fragment.querySelector("[data-signed-out]");
      if (signedOut) document.dispatchEvent(new Event("opsboard:signed-out"));
      else merge(target, fragment);
      // A fresh "as of" belongs into the header.
      const asOf = fragment.querySelector("[data-part-as-of]");
      if (asOf) document.querySelector("[data-as-of]")?.replaceChildren(...asOf.cloneNode(true).childNodes);
      document.dispatchEvent(new Event("opsboard:refreshed"));
      return true;
    },
  });
})();
