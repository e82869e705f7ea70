// Presses, stop, pictures, and the word that nobody is there. Works without the page's framework.
"use strict";
(() => {
  const config = JSON.parse(document.getElementById("config").textContent);
  const keys = new Map(Object.entries(config.keys));
  const LOST = 2000; // ms without a sign of life
  const AGAIN = 100; // ms between two stops while one is held
  const RETRY = 500; // ms between two attempts to connect
  const OLD = 1.0; // s after which a picture is old
  const SHOWN = 3; // answers
  const element = (id) => document.getElementById(id);
  const now = () => performance.now();

  // --- the line to the panel

  let line = null;
  let heard = now();
  let tried = 0;
  let refused = "";
  let beat = "";

  function connect() {
    tried = now();
    const made = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/line`);
    line = made;
    made.onmessage = (event) => {
      if (made === line) take(JSON.parse(event.data));
    };
    made.onclose = () => {
      if (made === line) line = null;
    };
  }

  function take(message) {
    heard = now();
    if (message.beat) beat = message.beat;
    if (message.panel && message.panel !== config.panel) location.reload();
    if (message.text) answered(message);
  }

  async function ask() {
    // Whether it is there, but no longer lets us in: started again with another token.
    try {
      const answer = await fetch("/static/icon.svg", { cache: "no-store" });
      refused = answer.status === 401 ? "It was started again with another token: open the address that it printed." : "";
    } catch {
      refused = "";
    }
  }

  function watch() {
    const quiet = now() - heard;
    const lost = quiet > LOST;
    // A connection whose other end is gone says nothing for minutes: it is left behind.
    if (lost && line && now() - tried > LOST) {
      const left = line;
      line = null;
      left.close();
    }
    if (!line && now() - tried > RETRY) {
      if (lost) ask();
      connect();
    }
    document.body.classList.toggle("lost", lost);
    element("lost").hidden = !lost;
    if (lost) element("why").textContent = `No sign of life for ${Math.floor(quiet / 1000)} s. ${refused}`;
    watchNews();
  }

  let news = "";
  let newsAt = now();

  function watchNews() {
    const shown = document.querySelector("[data-part=news]")?.textContent ?? "";
    if (shown !== news) [news, newsAt] = [shown, now()];
    document.body.classList.toggle("stuck", now() - newsAt > LOST);
  }

  // --- presses and their answers

  const waiting = new Map();

  function tell(text, mood, at = "") {
    const entry = document.createElement("p");
    write(entry, text, mood, at);
    element("answers").prepend(entry);
    while (element("answers").children.length > SHOWN) element("answers").lastChild.remove();
    return entry;
  }

  function write(entry, text, mood, at) {
    entry.className = mood;
    entry.textContent = at ? `${at}  ${text}` : text;
  }

  function answered({ action, text, mood, at }) {
    const entry = waiting.get(action);
    waiting.delete(action);
    if (entry?.isConnected) write(entry, text, mood, at);
    else if (!element("answers").firstChild?.textContent.endsWith(text)) tell(text, mood, at);
    else write(element("answers").firstChild, text, mood, at);
  }

  function press(action) {
    if (line?.readyState === WebSocket.OPEN) {
      line.send(`${action} ${beat}`);
      if (!waiting.get(action)?.isConnected) waiting.set(action, tell(`${action}: sent`, "dim"));
    } else if (action === "stop") {
      post();
    } else {
      tell(`${action}: NOT SENT, no connection to the panel`, "bad");
    }
  }

  async function post() {
    const entry = tell("stop: sent", "dim");
    try {
      const answer = await fetch("/stop", { method: "POST", keepalive: true, signal: AbortSignal.timeout(LOST) });
      const told = await answer.json();
      write(entry, told.text, told.mood, "");
    } catch {
      write(entry, "stop: NOT SENT, no connection to the panel", "bad", "");
    }
  }

  let stopped = -AGAIN;

  function stop() {
    if (now() - stopped < AGAIN) return;
    stopped = now();
    press("stop");
  }

  // --- fingers

  let holding = 0;

  function hold(event) {
    event.preventDefault();
    stop();
    release();
    holding = setInterval(stop, AGAIN);
    element("stop").setPointerCapture(event.pointerId);
  }

  function release() {
    clearInterval(holding);
  }

  element("stop").addEventListener("pointerdown", hold);
  for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) element("stop").addEventListener(end, release);
  // A click without a pointer: the enter key on the button, a screen reader.
  element("stop").addEventListener("click", stop);
  element("stop").addEventListener("contextmenu", (event) => event.preventDefault());

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-press]");
    if (button) press(button.dataset.press);
    // Else the next space would press it again.
    button?.blur();
  });

  // --- keys

  function actionOf(event) {
    const typing = event.target instanceof Element && event.target.closest("input, textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return undefined;
    return keys.get(event.key);
  }

  function down(event) {
    const action = actionOf(event);
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    if (action === "stop") stop();
    else if (event.repeat) return;
    else if (action === "help") element("card").hidden = !element("card").hidden;
    else press(action);
  }

  function up(event) {
    // A space that is let go would click the button that has the focus.
    if (actionOf(event)) event.preventDefault();
  }

  window.addEventListener("keydown", down, { capture: true });
  window.addEventListener("keyup", up, { capture: true });
  element("card").addEventListener("click", () => (element("card").hidden = true));

  // --- pictures

  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const cameras = new Set();

  async function look(figure) {
    const view = { figure, number: 0, came: null, problem: "" };
    cameras.add(view);
    while (figure.isConnected) {
      const began = now();
      if (!document.hidden) await fetchPicture(view).catch(() => undefined);
      await wait(Math.max(20, 1000 / config.rate - (now() - began)));
    }
    cameras.delete(view);
  }

  async function fetchPicture(view) {
    const path = `/picture/${encodeURIComponent(view.figure.dataset.camera)}?after=${view.number}`;
    const answer = await fetch(path, { signal: AbortSignal.timeout(3000) });
    if (!answer.ok) return;
    const age = answer.headers.get("x-age");
    const came = age ? now() - 1000 * Number(age) : null;
    view.problem = answer.headers.get("x-problem");
    if (answer.status === 200) await show(view.figure.querySelector("img"), await answer.blob());
    view.number = Number(answer.headers.get("x-number"));
    view.came = came;
  }

  async function show(image, blob) {
    const before = image.src;
    image.src = URL.createObjectURL(blob);
    await image.decode();
    URL.revokeObjectURL(before);
  }

  function note(view) {
    const age = view.came === null ? Infinity : (now() - view.came) / 1000;
    const topic = view.figure.dataset.topic;
    const silent = view.came === null ? `no picture on ${topic}` : `${age.toFixed(1)} s old`;
    view.figure.classList.toggle("aged", age > OLD || Boolean(view.problem));
    view.figure.querySelector("span").textContent = view.problem || (age > OLD ? silent : "");
  }

  function watchPictures() {
    const known = new Set([...cameras].map((view) => view.figure));
    for (const figure of document.querySelectorAll("[data-camera]")) if (!known.has(figure)) look(figure);
    cameras.forEach(note);
  }

  connect();
  setInterval(watch, 100);
  setInterval(watchPictures, 200);
})();
