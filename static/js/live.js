// When the page refreshes itself: every 5 s, never below 2 s, not while hidden or paused, and for an hour at most.
(() => {
  "use strict";
  const { remembered } = window.opsboard;
  const parts = [...document.querySelectorAll("[data-poll]")];
  const status = document.querySelector("[data-live-status]");
  const stale = document.querySelector("[data-stale]");
  const [LEAST, USUAL, MOST, HOUR] = [2, 5, 60, 3_600_000];
  let [misses, lastTry, since, isSignedOut] = [0, Date.now(), Date.now(), false];
  if (!parts.length) return;

  // Never below the least, whatever the page or the storage asks for; slower while nobody answers.
  function interval() {
    const wished = Number(remembered.read("seconds")) || Number(parts[0].dataset.poll) || USUAL;
    return Math.max(LEAST, Math.min(wished * 2 ** misses, MOST)) * 1000;
  }

  const isPaused = () => remembered.read("paused") === "1";
  const isStopped = () => Date.now() - since > HOUR;
  const isResting = () => isSignedOut || isPaused() || isStopped() || document.hidden;

  function refresh() {
    lastTry = Date.now();
    for (const part of parts) htmx.trigger(part, "refresh");
  }

  function beat() {
    if (!isResting() && Date.now() - lastTry >= interval()) refresh();
    showStatus();
  }

  function showStatus() {
    const word = isStopped() ? "wordStopped" : isPaused() ? "wordPaused" : "wordEvery";
    const text = status.dataset[word].replace("%(seconds)s", Math.round(interval() / 1000));
    const place = status.querySelector("[data-live-word]");
    const button = status.querySelector("[data-live-pause]");
    const isOff = word !== "wordEvery";
    if (place.textContent !== text) place.textContent = text;
    status.classList.toggle("live--paused", isOff);
    button.textContent = isOff ? status.dataset.wordResume : status.dataset.wordPause;
    status.hidden = isSignedOut;
  }

  function toggle() {
    const isOff = isPaused() || isStopped();
    remembered.write("paused", isOff ? "0" : "1");
    since = Date.now();
    if (isOff) refresh();
    showStatus();
  }

  // Old data stays where it is, and the page says how old it is and why.
  function showStale(reason) {
    const text = stale.dataset[reason].replace("%(time)s", document.querySelector("[data-as-of]")?.textContent ?? "");
    if (stale.firstChild?.firstChild?.data === text) return;
    const notice = document.createElement("p");
    notice.className = "notice notice--warning";
    notice.append(text);
    if (isSignedOut) notice.append(" ", signInLink());
    stale.replaceChildren(notice);
    for (const part of parts) part.classList.add("is-stale");
  }

  function signInLink() {
    const link = document.createElement("a");
    link.href = `${stale.dataset.signIn}?next=${encodeURIComponent(location.pathname + location.search)}`;
    link.textContent = stale.dataset.wordSignIn;
    return link;
  }

  function missed(event) {
    misses += 1;
    if (misses >= 3) showStale(event.detail.xhr?.status === 503 ? "wordStore" : "wordSilent");
  }

  document.addEventListener("opsboard:signed-out", () => {
    isSignedOut = true;
    showStale("wordSignedOut");
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (!event.detail.successful) return isSignedOut || missed(event);
    misses = 0;
    stale.replaceChildren();
    for (const part of parts) part.classList.remove("is-stale");
  });
  document.addEventListener("click", (event) => event.target.closest("[data-live-pause]") && toggle());
  document.addEventListener("opsboard:refresh", refresh);
  document.addEventListener("visibilitychange", beat);
  addEventListener("storage", showStatus);
  showStatus();
  setInterval(beat, 500);
})();
