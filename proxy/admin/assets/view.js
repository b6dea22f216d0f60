// One compaction, side by side: what went in, and what was sent.

import { ask } from "./api.js";
import { el, panel } from "./dom.js";
import { count } from "./format.js";

export async function comparison(event) {
  if (!["compacted", "reused", "recovered"].includes(event.action)) return null;
  if (!event.view) return panel("What went in, and what was sent", el("p", { class: "empty" },
    "Not kept. Texts are kept for this page only while store.keep_views is on, and never leave the admin port."));
  const view = await ask(`/api/exchanges/${encodeURIComponent(event.id)}/view`);
  return panel("What went in, and what was sent",
    el("div", { class: "columns sides" }, side("Went in", view.before), side("Was sent", view.after)));
}

function side(title, rows) {
  return el("section", { "aria-label": title }, el("h3", {}, `${title}: ${count(rows.length)} rows`),
    el("ol", { class: "rows" }, rows.map((row) => el("li", { class: row.change ?? "" },
      el("p", { class: "who" }, el("b", {}, row.role), row.change && el("span", { class: "tag" }, row.change)),
      el("pre", { tabindex: 0 }, row.text)))));
}
