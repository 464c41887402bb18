// Ticked rows of a list: how many there are, all of a page at once, and a range from the one before.
(() => {
  "use strict";
  const form = document.querySelector("[data-ticks]");
  const all = document.querySelector("[data-ticks-all]");
  const count = document.querySelector("[data-ticks-count]");
  let last = null;
  if (!form) return;

  const boxes = () => [...form.querySelectorAll("tbody input[name=row]")];

  function show() {
    const ticked = boxes().filter((box) => box.checked).length;
    const word = ticked ? (ticked === 1 ? count.dataset.wordOne : count.dataset.wordMany) : count.dataset.wordNone;
    const text = word.replace("%(count)s", ticked);
    if (count.textContent !== text) count.textContent = text;
    all.checked = ticked > 0 && ticked === boxes().length;
    all.indeterminate = ticked > 0 && !all.checked;
  }

  // From the box that was last ticked to this one, all become as this one is.
  function extend(box) {
    const [list, from] = [boxes(), last?.isConnected ? last : box];
    const [first, end] = [list.indexOf(from), list.indexOf(box)].sort((one, other) => one - other);
    for (const one of list.slice(first, end + 1)) one.checked = box.checked;
  }

  function settle(box, isRange) {
    if (isRange) extend(box);
    last = box;
    show();
  }

  form.addEventListener("click", (event) => {
    if (event.target.name === "row") settle(event.target, event.shiftKey);
  });
  all.addEventListener("change", () => {
    for (const box of boxes()) box.checked = all.checked;
    show();
  });
  document.addEventListener("opsboard:tick", (event) => {
    const box = event.target.querySelector("input[name=row]");
    if (!box) return;
    box.checked = event.detail.isRange || !box.checked;
    settle(box, event.detail.isRange);
  });
  document.addEventListener("opsboard:refreshed", show);
  // A page that is come back to has its boxes as they were left.
  addEventListener("pageshow", show);
})();
