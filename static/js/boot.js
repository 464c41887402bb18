// Runs before anything is painted: what this browser remembers, and the theme.
(() => {
  "use strict";
  const THEMES = ["system", "light", "dark"];

  // A browser may refuse storage; then nothing is remembered and everything else works.
  const remembered = {
    read(name) {
      try {
        return localStorage.getItem(`opsboard.${name}`);
      } catch {
        return null;
      }
    },
    write(name, value) {
      try {
        localStorage.setItem(`opsboard.${name}`, value);
      } catch {
        // Not remembered.
      }
    },
  };
  window.opsboard = { remembered };

  const theme = () => (THEMES.includes(remembered.read("theme")) ? remembered.read("theme") : "system");

  function apply() {
    if (theme() === "system") delete document.documentElement.dataset.bsTheme;
    else document.documentElement.dataset.bsTheme = theme();
    for (const button of document.querySelectorAll("[data-theme-switch]")) {
      button.textContent = button.getAttribute(`data-word-${theme()}`);
    }
  }

  function offer() {
    for (const control of document.querySelectorAll("[data-needs-script]")) control.hidden = false;
  }

  apply();
  addEventListener("storage", apply);
  // A refresh brings such controls as the server sends them: hidden.
  document.addEventListener("opsboard:refreshed", offer);
  document.addEventListener("DOMContentLoaded", () => {
    offer();
    apply();
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-theme-switch]")) return;
    remembered.write("theme", THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
    apply();
  });
})();
