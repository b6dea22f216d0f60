// Conversations that were compacted: their sessions, how they hang together, and what can be done to them.

import { ask } from "./api.js";
import { compactButton, notice, sure } from "./actions.js";
import { el, facts, panel, put, table } from "./dom.js";
import { comparison } from "./view.js";
import { count, date, shortId, time } from "./format.js";

const link = (session) => el("a", { href: `#session/${encodeURIComponent(session.id)}` }, session.title);
const ENDS = { compaction: "compacted again", edited: "history was edited", expired: "expired" };
const state = (session) => (session.ended ? `${ENDS[session.reason] ?? session.reason}, ${date(session.ended)}` : "goes on");

export function sessions(main) {
  return { every: 10, update: async () => {
    const rows = (await ask("/api/sessions?limit=200")).sessions;
    put(main, el("h2", {}, "Sessions"), el("div", { class: "scroll" }, table("Sessions, newest first; each compaction begins one", [
      { title: "Title", value: link },
      { title: "Model", value: ({ model }) => model },
      { title: "Client", value: ({ client }) => client },
      { title: "Began", value: ({ started }) => date(started) },
      { title: "State", value: state },
      { title: "Folds", number: true, value: ({ depth }) => String(depth) },
      { title: "Tokens saved", number: true, value: (session) => count(session.tokens_saved) },
    ], rows, "No conversation was compacted yet.")));
  } };
}

export function session(main, id) {
  return { every: 0, update: async () => {
    const { session: one, lineage, exchanges, view } = await ask(`/api/sessions/${encodeURIComponent(id)}`);
    put(main, el("p", {}, el("a", { href: "#sessions" }, "← Sessions")), el("h2", {}, one.title),
      el("div", { class: "bar" }, compactButton({ session: one.id }, "Compact at the next request"), dropButton(one)),
      panel("Session", facts([
        ["Record", one.id], ["Model", one.model], ["Client", one.client], ["Began", date(one.started)], ["State", state(one)],
        ["Folds", String(one.depth)], ["Summary", one.degraded ? "degraded: made without the model" : "whole"],
      ])),
      panel("Lineage", el("ol", { class: "lineage" }, lineage.map((each) => el("li", each.id === one.id ? { "aria-current": "true" } : {},
        each.id === one.id ? el("b", {}, each.title) : link(each), ` began ${date(each.started)}; ${state(each)}`)))),
      panel("Newest exchanges", table("Exchanges under this record", [
        { title: "Ended", value: (event) => el("a", { href: `#exchange/${encodeURIComponent(event.id)}` }, time(event.at)) },
        { title: "Action", value: ({ action }) => el("span", { class: `tag ${action}` }, action) },
        { title: "Before", number: true, value: (event) => event.before_tokens && count(event.before_tokens) },
        { title: "Sent", number: true, value: (event) => event.after_tokens && count(event.after_tokens) },
      ], exchanges, "None since the proxy started.")),
      await comparison(one.id, view).catch((fault) => notice(fault.message)));
  } };
}

function dropButton(one) {
  return el("button", { type: "button", class: "danger", click: async () => {
    if (!await sure("Drop the record?", `“${one.title}” (${shortId(one.id)}): the summary is forgotten. The next request that is over the threshold makes another; the client's own history is not touched.`)) return;
    await ask(`/api/sessions/${encodeURIComponent(one.id)}`, { method: "DELETE" });
    notice("The record was dropped.");
    location.hash = "sessions";
  } }, "Drop the record");
}
