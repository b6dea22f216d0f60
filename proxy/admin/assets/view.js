// One compaction, side by side: what went in, and what was sent.

import { ask } from "./api.js";
import { el, panel } from "./dom.js";
import { count } from "./format.js";

export async function comparison(record, kept) {
  if (!record) return null;
  if (!kept) return panel("What went in, and what was sent", el("p", { class: "empty" },
    "Not kept. Texts are kept for this page only while store.keep_views is on, and never leave the admin port."));
  const view = await ask(`/api/sessions/${encodeURIComponent(record)}/view`);
  return panel("What went in, and what was sent",
    el("div", { class: "columns sides" }, side("Went in", view.before, view.before_left_out), side("Was sent", view.after, view.after_left_out)));
}

function side(title, rows, leftOut) {
  return el("section", { "aria-label": title }, el("h3", {}, `${title}: ${count(rows.length + leftOut)} rows`),
    leftOut ? el("p", { class: "empty" }, `${count(leftOut)} earlier rows are not kept.`) : null,
    el("ol", { class: "rows" }, rows.map((row) => el("li", { class: row.change },
      el("p", { class: "who" }, el("b", {}, row.role), row.change ? el("span", { class: "tag" }, row.change) : null),
      el("pre", { tabindex: 0 }, row.text)))));
}
