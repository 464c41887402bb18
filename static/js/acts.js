// Small help around forms and texts: one press is one request, and texts can be copied.
(() => {
  "use strict";
  const forms = () => document.querySelectorAll("form[data-once]");

  // Buttons may stand outside of the form that they send, as in a table.
  function disable(form, isDisabled) {
    for (const control of form.elements) if (control.type === "submit") control.disabled = isDisabled;
  }

  function release(form) {
    form.removeAttribute("aria-busy");
    disable(form, false);
  }

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("form[data-once]")) return;
    // A busy browser may hand over the second press before it has switched the button off.
    if (event.target.ariaBusy === "true") return event.preventDefault();
    event.target.setAttribute("aria-busy", "true");
    // After the request is made: a disabled button would not be part of it.
    setTimeout(() => disable(event.target, true));
  });

  // A page that the browser kept comes back as it was left: with its buttons off.
  addEventListener("pageshow", (event) => event.persisted && forms().forEach(release));

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const source = document.getElementById(button.dataset.copyFrom);
    await navigator.clipboard.writeText(source ? source.textContent : button.dataset.copy);
    const word = button.textContent;
    button.textContent = button.dataset.wordCopied;
    document.querySelector("[data-announce]").textContent = button.dataset.wordCopied;
    setTimeout(() => {
      button.textContent = word;
    }, 2000);
  });
})();
