// Which view is shown, and when it is read anew.

import { notice } from "./actions.js";
import { ask, follow, token } from "./api.js";
import { exchange, exchanges } from "./exchanges.js";
import { health } from "./health.js";
import { models } from "./models.js";
import { overview } from "./overview.js";
import { session, sessions } from "./sessions.js";

const VIEWS = { overview: (main) => ({ every: 5, update: overview(main) }), exchanges, exchange, sessions, session, models, health };
const PARENTS = { exchange: "exchanges", session: "sessions" };
const find = (id) => document.getElementById(id);

let listener = null;
let timer = null;
let showing = 0;

async function show() {
  const [name, id] = location.hash.slice(1).split("/");
  const view = VIEWS[name] ? name : "overview";
  const main = find("main");
  const turn = ++showing;
  clearInterval(timer);
  listener = null;
  mark(PARENTS[view] ?? view);
  const second = id === undefined ? (heard) => { listener = heard; } : decodeURIComponent(id);
  const { update, every } = VIEWS[view](main, second);
  const refresh = async () => {
    try {
      await update();
    } catch (fault) {
      if (turn === showing) failed(fault, main);
    }
  };
  await refresh();
  if (turn !== showing) return;
  if (every) timer = setInterval(() => { if (!document.hidden && !main.contains(document.activeElement?.closest("details[open], select"))) refresh(); }, every * 1000);
}

function mark(current) {
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${current[0].toUpperCase()}${current.slice(1)} · Concertina`;
}

function failed(fault, main) {
  if (fault.status === 401) return login();
  if (fault.status === 404 && !main.childElementCount) main.textContent = fault.message;
  notice(fault.status ? fault.message : "The admin port does not answer.");
}

function login() {
  const dialog = find("login");
  if (dialog.open) return;
  find("login-why").textContent = token.get() ? "This token was not accepted." : "This port is open to those who know its token.";
  dialog.addEventListener("close", () => {
    token.set(find("token").value);
    find("token").value = "";
    start();
  }, { once: true });
  dialog.showModal();
}

async function start() {
  await show();
  let lost = false;
  follow((event) => listener?.(event), (connected) => {
    if (connected && lost) show(); // what ended meanwhile was missed
    lost = !connected;
    find("state").textContent = connected ? "Live" : "Not connected; trying again";
    find("state").className = connected ? "good" : "bad";
  });
}

window.addEventListener("hashchange", () => {
  find("main").replaceChildren();
  find("main").focus({ preventScroll: true });
  window.scrollTo(0, 0);
  show();
});
ask("/api/stats").then(start, (fault) => (fault.status === 401 ? login() : start()));
