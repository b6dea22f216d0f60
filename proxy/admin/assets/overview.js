// What it does as a whole: sizes, money, refusals.

import { ask } from "./api.js";
import { bars, chart } from "./charts.js";
import { el, panel, put, table } from "./dom.js";
import { compact, count, dollars, net, percent, total } from "./format.js";

const RANGES = [[60, "Last hour"], [360, "Last 6 hours"], [1440, "Last day"]];
const MOST_POINTS = 120;
let minutes = 60;

export function overview(main) {
  const place = el("div", { class: "stack" });
  const range = el("select", { change: () => { minutes = Number(range.value); return update(); } },
    RANGES.map(([value, name]) => el("option", { value, selected: value === minutes }, name)));
  put(main, el("div", { class: "bar" }, el("h2", {}, "Overview"), el("label", {}, "Charts: ", range)), place);
  const update = async () => {
    const stats = await ask("/api/stats");
    put(place, tiles(stats), charts(stats), el("div", { class: "columns" },
      panel("Refusals of upstreams", bars("Refusals by kind", stats.overflow, "No refusal so far.")),
      panel("What was done", bars("Exchanges by action", stats.actions, "No exchange so far."))),
      panel("By route and model", models(stats)));
  };
  return update;
}

function tiles(stats) {
  const sums = total(stats.models);
  const removed = (sums.before_tokens ?? 0) - (sums.prompt_tokens ?? 0);
  const effect = net(sums);
  const tile = (name, value, note, kind) => el("div", { class: `tile ${kind ?? ""}` }, el("dt", {}, name), el("dd", {}, el("strong", {}, value), el("small", {}, note)));
  return el("dl", { class: "tiles" },
    tile("Exchanges", count(sums.exchanges), `${count(stats.inflight)} in flight`),
    tile("Sent shorter", count(sums.folded), `${percent(sums.folded ?? 0, sums.exchanges)} of all`),
    tile("Tokens not sent", compact(removed), `${percent(removed, sums.before_tokens)} of ${compact(sums.before_tokens)}`),
    tile("Net effect", dollars(effect), effectNote(sums, effect), effect < 0 ? "bad" : effect > 0 ? "good" : ""));
}

// Where the whole history would not have fitted, there is nothing to compare with; it is said, lest a loss look like one.
function effectNote(sums, effect) {
  if (effect === undefined) return "no price is known";
  const sum = `${dollars(sums.before_cost)} before − ${dollars(sums.after_cost)} sent − ${dollars(sums.summary_cost ?? 0)} summaries`;
  return sums.beyond_window ? `${sum}; ${count(sums.beyond_window)} exchanges were too long to go whole: no saving claimed` : sum;
}

function charts(stats) {
  const points = collected(stats);
  return el("div", { class: "columns" },
    panel("Tokens", chart({
      title: "Prompt tokens", points, format: compact,
      series: [
        { name: "sent", filled: true, value: (point) => point.prompt_tokens ?? 0 },
        { name: "of these cached", filled: true, value: (point) => point.cached_tokens ?? 0 },
        { name: "without the proxy", value: (point) => point.before_tokens ?? 0 },
      ],
    })),
    panel("Cost", chart({
      title: "US dollars", points, format: dollars,
      series: [
        { name: "sent", filled: true, value: (point) => (point.after_cost ?? 0) + (point.summary_cost ?? 0) },
        { name: "of these summaries", filled: true, value: (point) => point.summary_cost ?? 0 },
        { name: "without the proxy", value: (point) => point.before_cost ?? 0 },
      ],
    })));
}

// Minutes without an exchange are zero; long ranges are gathered so that a line stays a line.
function collected(stats) {
  const step = Math.ceil(minutes / MOST_POINTS);
  const end = Math.floor(stats.now / 60);
  const points = [];
  for (let minute = end - minutes + step; minute <= end; minute += step) {
    const point = { at: minute * 60 };
    for (let each = minute - step + 1; each <= minute; each += 1)
      for (const [name, value] of Object.entries(stats.minutes[String(each * 60)] ?? {})) point[name] = (point[name] ?? 0) + value;
    points.push(point);
  }
  return points;
}

function models(stats) {
  const rows = Object.entries(stats.models).flatMap(([route, perModel]) =>
    Object.entries(perModel).map(([model, sums]) => ({ route, model, ...sums })));
  return el("div", { class: "scroll" }, table("Tokens and cost before and after, by route and model", [
    { title: "Model", value: ({ model }) => model },
    { title: "Route", value: ({ route }) => route },
    { title: "Exchanges", number: true, value: ({ exchanges }) => count(exchanges) },
    { title: "Tokens before", number: true, value: (row) => count(row.before_tokens) },
    { title: "Tokens sent", number: true, value: (row) => count(row.prompt_tokens) },
    { title: "Cached", number: true, value: (row) => percent(row.cached_tokens ?? 0, row.prompt_tokens) },
    { title: "Cost before", number: true, value: (row) => dollars(row.before_cost) },
    { title: "Cost after", number: true, value: (row) => dollars(row.after_cost) },
    { title: "Summaries", number: true, value: (row) => dollars(row.summary_cost) },
    { title: "Net effect", number: true, value: (row) => el("span", { class: net(row) < 0 ? "bad" : "" }, dollars(net(row))) },
  ], rows, "No exchange so far."));
}
