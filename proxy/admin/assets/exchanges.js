// Exchanges as they end, and one of them in full.

import { ask } from "./api.js";
import { compactButton, notice } from "./actions.js";
import { el, facts, panel, put, table, tableRow } from "./dom.js";
import { count, dollars, seconds, shortId, time } from "./format.js";
import { comparison } from "./view.js";

const MOST_ROWS = 200;
const ACTIONS = ["passthrough", "observed", "compacted", "reused", "recovered", "failed-open", "gave-up"];

const COLUMNS = [
  { title: "Ended", value: (event) => el("a", { href: `#exchange/${encodeURIComponent(event.id)}` }, time(event.at)) },
  { title: "Action", value: (event) => el("span", { class: `tag ${event.action}` }, event.ended ?? event.action) },
  { title: "Model", value: (event) => event.model },
  { title: "Route", value: (event) => event.route },
  { title: "Before", number: true, value: (event) => event.before_tokens && count(event.before_tokens) },
  { title: "Sent", number: true, value: (event) => (event.after_tokens ?? event.prompt_tokens) && count(event.after_tokens ?? event.prompt_tokens) },
  { title: "Status", number: true, value: (event) => String(event.status || "–") },
  { title: "Time", number: true, value: (event) => seconds(event.seconds) },
];

let paused = false;

export function exchanges(main, live) {
  const place = el("div", { class: "scroll" });
  const only = el("select", { change: () => update() }, el("option", { value: "" }, "all"), ACTIONS.map((name) => el("option", { value: name }, name)));
  const pause = el("button", { type: "button", "aria-pressed": String(paused), click: () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
  } }, "Pause");
  const search = el("form", { role: "search", submit: (event) => {
    event.preventDefault();
    location.hash = `exchange/${encodeURIComponent(wanted.value.trim())}`;
  } }, el("label", { for: "wanted" }, "Request id"));
  const wanted = el("input", { id: "wanted", type: "search", required: true, placeholder: "of any side" });
  search.append(wanted, el("button", { type: "submit" }, "Find"));
  put(main, el("div", { class: "bar" }, el("h2", {}, "Exchanges"), el("label", {}, "Show: ", only), pause, search), place);
  const shown = (event) => !only.value || event.action === only.value;
  const update = async () => {
    const rows = (await ask(`/api/exchanges?limit=${MOST_ROWS}`)).exchanges.filter(shown);
    put(place, table("Exchanges, newest first", COLUMNS, rows, "No exchange yet. Send one through the proxy."));
  };
  live((event) => {
    if (paused || !shown(event)) return;
    const body = place.querySelector("tbody");
    if (!body) return void update();
    body.prepend(tableRow(COLUMNS, event));
    body.firstElementChild.classList.add("new");
    while (body.rows.length > MOST_ROWS) body.lastElementChild.remove();
  });
  return { update, every: 0 };
}

export function exchange(main, id) {
  return { every: 0, update: async () => {
    const event = await ask(`/api/exchanges/${encodeURIComponent(id)}`);
    const record = event.record && el("a", { href: `#session/${encodeURIComponent(event.record)}` }, shortId(event.record));
    put(main, el("p", {}, el("a", { href: "#exchanges" }, "← Exchanges")), el("h2", {}, `Exchange ${event.id}`),
      el("div", { class: "bar" }, compactButton({ exchange: event.id }, "Compact this conversation at its next request")),
      panel("What happened", facts([
        ["Ended", time(event.at)], ["Action", event.ended ?? event.action], ["Why", event.why], ["Status", String(event.status || "–")],
        ["Model", event.model], ["Route", event.route], ["Upstream", event.upstream], ["Upstream calls", String(event.attempts)],
        ["Time", seconds(event.seconds)], ["Refusals", event.faults?.join(", ")], ["Rungs of recovery", event.rungs?.join(", ")],
        ["Warnings", event.warnings?.join("; ")], ["Client's request id", event.client_request_id], ["Upstream's request id", event.upstream_request_id],
      ])),
      panel("Sizes", facts([
        ["Tokens before", event.before_tokens && count(event.before_tokens)], ["Tokens sent", event.after_tokens && count(event.after_tokens)],
        ["Threshold", event.threshold && count(event.threshold)], ["Window", event.window && `${count(event.window)} (${event.window_source})`],
        ["Prompt, as the upstream counted", event.prompt_tokens && count(event.prompt_tokens)], ["Of these cached", event.prompt_tokens && count(event.cached_tokens)],
        ["Completion", event.prompt_tokens && count(event.completion_tokens)], ["Cost before", event.before_cost !== undefined && dollars(event.before_cost)],
        ["Cost after", event.after_cost !== undefined && dollars(event.after_cost)], ["Record", record], ["Depth", event.depth !== undefined && String(event.depth)],
        ["Summary", event.summary_calls !== undefined && `${event.summary_calls} calls${event.degraded ? ", degraded" : ""}`], ["Summary failures", event.summary_failures?.join(", ")],
      ].map(([name, value]) => [name, value || null]))),
      await comparison(event.record, event.view).catch((fault) => notice(fault.message)));
  } };
}
