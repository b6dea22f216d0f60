// What can be set going, and what is said of it.

import { ask } from "./api.js";
import { el } from "./dom.js";

const find = (id) => document.getElementById(id);
let clearing;

export function notice(text) {
  const place = find("notice");
  place.textContent = text;
  clearTimeout(clearing);
  clearing = setTimeout(() => { place.textContent = ""; }, 8000);
}

export function compactButton(target, label) {
  return el("button", { type: "button", click: async () => {
    try {
      await ask("/api/compact", { method: "POST", data: target });
      notice("Marked: the next request of this conversation will be compacted.");
    } catch (fault) {
      notice(fault.message);
    }
  } }, label);
}

export function sure(title, text) {
  const dialog = find("sure");
  find("sure-title").textContent = title;
  find("sure-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((done) => dialog.addEventListener("close", () => done(dialog.returnValue === "yes"), { once: true }));
}
