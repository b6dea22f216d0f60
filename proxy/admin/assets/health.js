// Stores, summarisers, and what recovery did.

import { ask } from "./api.js";
import { bars } from "./charts.js";
import { el, facts, panel, put, table } from "./dom.js";
import { count, date, duration, seconds } from "./format.js";

export function health(main) {
  return { every: 5, update: async () => {
    const stats = await ask("/api/stats");
    put(main, el("h2", {}, "Health"), el("div", { class: "columns" },
      panel("Proxy", facts([
        ["Version", stats.version], ["Processes", count(stats.processes)], ["Running since", `${date(stats.started)} (${duration(stats.now - stats.started)})`],
        ["Exchanges in flight", count(stats.inflight)],
      ])),
      panel("Stores", stores(stats)),
      panel("Summaries", facts([
        ["Written", count(stats.summaries.made)], ["Time each", stats.summaries.made ? seconds(stats.summaries.seconds / stats.summaries.made) : "–"],
      ]), bars("Failed summaries by reason", stats.summaries.failures, "None failed.")),
      panel("Summarisers", writers(stats)),
      panel("Compactions", bars("Compactions by outcome", stats.compactions, "None so far.")),
      panel("Recovered", bars("Requests answered after a refusal, by rung", stats.recovered, "None so far.")),
      panel("Look-ups of records", bars("Look-ups by result", stats.lookups, "None so far."))));
  } };
}

// A summariser whose last call failed stands out; what was written without a model needs none.
function writers(stats) {
  const rows = Object.entries(stats.summaries.writers).flatMap(([route, perWriter]) =>
    Object.entries(perWriter).map(([name, state]) => ({ route, name, ...state })));
  return table("Models that write summaries", [
    { title: "Upstream / model", value: ({ name }) => name },
    { title: "Route", value: ({ route }) => route },
    { title: "State", value: (row) => (row.last_fault_at > row.last_at
      ? el("span", { class: "bad" }, `failed at ${date(row.last_fault_at)}: ${row.last_fault}`) : el("span", { class: "good" }, "works")) },
    { title: "Calls", number: true, value: ({ calls }) => count(calls) },
    { title: "Failures", number: true, value: ({ failures }) => count(failures) },
  ], rows, "No model was asked for a summary yet.");
}

function stores(stats) {
  return table("Stores", [
    { title: "Kind", value: ({ kind }) => kind },
    { title: "State", value: (store) => el("span", { class: store.healthy ? "good" : "bad" }, store.healthy ? "works" : `does not work: ${store.cause}`) },
    { title: "Place", value: ({ place }) => place },
    { title: "Figures", value: ({ figures }) => Object.entries(figures).map(([name, value]) => `${name} ${count(value)}`).join(", ") || null },
  ], stats.stores, "There is none.");
}
