// Elements are made here and nowhere else: text only ever becomes a text node, so no title or model name is markup.

export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(key, value);
    else if (value === true) node.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

export function put(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
}

// A table whose rows turn into cards on a narrow screen: each cell knows its column's name. Roles are spelled out, since
// a row that is laid out as a grid is no row any more to a screen reader.
export function table(caption, columns, rows, empty) {
  if (!rows.length) return el("p", { class: "empty" }, empty);
  const head = el("tr", { role: "row" }, columns.map(({ title, number }) => el("th", { role: "columnheader", scope: "col", class: number && "number" }, title)));
  const body = rows.map((row) => tableRow(columns, row));
  return el("table", { role: "table" }, el("caption", {}, caption), el("thead", { role: "rowgroup" }, head), el("tbody", { role: "rowgroup" }, body));
}

export function tableRow(columns, row) {
  const cells = columns.map(({ title, value, number }, index) =>
    el(index ? "td" : "th", { role: index ? "cell" : "rowheader", scope: index ? null : "row", "data-label": title, class: number && "number" }, value(row) ?? "–"));
  return el("tr", { role: "row" }, cells);
}

export function facts(pairs) {
  const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", {}, known.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

export function panel(title, ...children) {
  return el("section", { class: "panel" }, el("h2", {}, title), ...children);
}
