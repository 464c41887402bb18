// Times of the page: ages that go on counting, and the zone they are shown in. The server's clock decides.
(() => {
  "use strict";
  const { remembered } = window.opsboard;
  const words = document.body.dataset;
  const ahead = words.now ? Date.parse(words.now) - Date.now() : 0;
  const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const pad = (number) => String(number).padStart(2, "0");

  // The same rules as jobs/domain/times.py: one unit below an hour, else two, rounded down.
  function amount(seconds) {
    const at = UNITS.findIndex(([, size]) => seconds >= size);
    if (at < 0) return "0 s";
    const [unit, size] = UNITS[at];
    const minor = seconds >= 3600 ? Math.floor((seconds % size) / UNITS[at + 1][1]) : 0;
    return `${Math.floor(seconds / size)} ${unit}` + (minor ? ` ${minor} ${UNITS[at + 1][0]}` : "");
  }

  function relative(kind, milliseconds) {
    const seconds = Math.floor(Math.abs(milliseconds) / 1000);
    if (seconds < 1) return words.wordNow;
    const isFuture = kind === "due" && milliseconds > 0;
    return (isFuture ? words.wordIn : words.wordAgo).replace("%(amount)s", amount(seconds));
  }

  function tick() {
    const now = Date.now() + ahead;
    for (const time of document.querySelectorAll("time[data-when]")) {
      const place = time.querySelector(".time__relative");
      const distance = Date.parse(time.dateTime) - now;
      // What lies ahead and should not is said by the server alone.
      if (!place || (time.dataset.when === "past" && distance > 0)) continue;
      const text = relative(time.dataset.when, distance);
      if (place.textContent !== text) place.textContent = text;
    }
  }

  function zoneName(date) {
    const parts = new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(date);
    return parts.find((part) => part.type === "timeZoneName").value;
  }

  function inLocalZone(date, hasDate) {
    const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())} `;
    return (hasDate ? day : "") + [date.getHours(), date.getMinutes(), date.getSeconds()].map(pad).join(":");
  }

  const isLocal = () => remembered.read("zone") === "local";

  function show(time) {
    const place = time.querySelector(".time__absolute");
    if (!place) return;
    const [digits, zone] = [place.firstChild, place.querySelector(".time__zone")];
    time.dataset.digits ??= digits.data;
    time.dataset.zone ??= zone.textContent;
    const date = new Date(time.dateTime);
    digits.data = isLocal() ? `${inLocalZone(date, time.dataset.digits.includes("-"))} ` : time.dataset.digits;
    zone.textContent = isLocal() ? zoneName(date) : time.dataset.zone;
  }

  function showAll() {
    document.querySelectorAll("time[data-when]").forEach(show);
    const server = document.querySelector("time[data-zone]");
    for (const button of document.querySelectorAll("[data-zone-switch]")) {
      const zone = isLocal() ? `${button.dataset.wordLocal} (${zoneName(new Date())})` : server?.dataset.zone ?? "UTC";
      button.textContent = button.dataset.word.replace("%(zone)s", zone);
    }
  }

  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-zone-switch]")) return;
    remembered.write("zone", isLocal() ? "server" : "local");
    showAll();
  });
  document.addEventListener("opsboard:refreshed", () => {
    showAll();
    tick();
  });
  addEventListener("storage", showAll);
  showAll();
  setInterval(tick, 1000);
})();
