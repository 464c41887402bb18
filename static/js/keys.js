// Keys move and look. None of them acts: an act takes its button.
(() => {
  "use strict";
  const { remembered } = window.opsboard;
  const help = document.querySelector("[data-keys-help]");
  const box = help.querySelector("[data-keys-switch]");
  const isOn = () => remembered.read("keys") !== "off";
  const isSeen = (element) => element.checkVisibility();
  let goUntil = 0;

  const row = () => document.activeElement.closest("[data-key]");

  function tick(isRange) {
    row()?.dispatchEvent(new CustomEvent("opsboard:tick", { bubbles: true, detail: { isRange } }));
  }

  function move(step) {
    const links = [...document.querySelectorAll("[data-row-link]")].filter(isSeen);
    const here = row();
    const at = links.findIndex((link) => here?.contains(link));
    const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : at + step];
    next?.focus();
    next?.closest("[data-key]")?.scrollIntoView({ block: "nearest" });
  }

  function focusLookup() {
    const menu = document.querySelector("[data-menu]");
    if (menu && isSeen(menu)) menu.open = true;
    [...document.querySelectorAll("[data-lookup]")].find(isSeen)?.focus();
  }

  function refresh() {
    if (document.querySelector("[data-poll]")) document.dispatchEvent(new Event("opsboard:refresh"));
    else location.reload();
  }

  const open = (selector) => document.querySelector(selector)?.click();

  const ACTS = {
    "/": focusLookup,
    "?": () => help.showModal(),
    j: () => move(1),
    k: () => move(-1),
    x: () => tick(false),
    X: () => tick(true),
    r: refresh,
    p: () => open("[data-live-pause]"),
    g: () => {
      goUntil = Date.now() + 1500;
    },
    Escape: () => open("[data-back]"),
  };

  function isTyping(target) {
    return target.closest("input:not([name=row]), textarea, select, [contenteditable], dialog[open]");
  }

  document.addEventListener("keydown", (event) => {
    if (!isOn() || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape" && !event.target.closest("dialog")) event.target.blur();
      return;
    }
    const isGoing = Date.now() < goUntil && /^[a-z]$/.test(event.key);
    const act = isGoing ? () => open(`[data-go="${event.key}"]`) : ACTS[event.key];
    goUntil = 0;
    if (!act) return;
    event.preventDefault();
    act();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-keys-open]")) help.showModal();
  });
  box.checked = isOn();
  box.addEventListener("change", () => remembered.write("keys", box.checked ? "on" : "off"));
})();
