// What is known of each model: its window, where that number comes from, and how its tokens compare with ours.

import { ask } from "./api.js";
import { el, put, table } from "./dom.js";
import { count } from "./format.js";

const SOURCES = {
  config: "configured", upstream: "told by the upstream", learned: "learned from a refusal", table: "from the table", default: "a guess: nothing is known",
};

export function models(main) {
  return { every: 10, update: async () => {
    const { windows } = await ask("/api/windows");
    put(main, el("h2", {}, "Models"), el("div", { class: "scroll" }, table("Context windows and token ratios", [
      { title: "Model", value: ({ model }) => model },
      { title: "Upstream", value: ({ upstream }) => upstream },
      { title: "Credential", value: ({ credential }) => credential },
      { title: "Window", number: true, value: ({ window }) => window && count(window) },
      { title: "Known from", value: ({ source }) => SOURCES[source] ?? source },
      { title: "Tokens for one of ours", number: true, value: ({ ratio }) => ratio.toFixed(3) },
      { title: "Samples", number: true, value: ({ samples }) => count(samples) },
      { title: "Margin", number: true, value: ({ margin }) => `${Math.round(100 * margin)} %` },
      { title: "Roles", value: (row) => (row.strict_roles ? "strict" : "lenient") },
    ], windows, "No model was asked for yet.")));
  } };
}
