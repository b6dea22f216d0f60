// A chart over time as inline SVG, with its numbers in a table for whoever cannot see it.

import { el, svg, table } from "./dom.js";
import { time } from "./format.js";

// Drawn narrower on a phone, so that its letters are not scaled away.
const WIDTH = matchMedia("(max-width: 46rem)").matches ? 360 : 640;
const HEIGHT = 200;
const LEFT = 56;
const BOTTOM = 24;
const TOP = 10;

export function chart({ title, series, points, format }) {
  const most = Math.max(1e-9, ...points.flatMap((point) => series.map(({ value }) => value(point))));
  const x = (index) => LEFT + ((WIDTH - LEFT - 4) * (points.length > 1 ? index : 0.5)) / Math.max(points.length - 1, 1);
  const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / most);
  const drawing = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}; the numbers follow in a table` },
    axes(points, most, { x, y, format }), series.map((one) => line(one, points, { x, y })));
  return el("figure", {}, el("figcaption", {}, title, legend(series)), drawing, numbers(title, series, points, format));
}

function axes(points, most, { x, y, format }) {
  const levels = [0, 0.5, 1].map((share) => most * share);
  const across = levels.map((level) => [
    svg("line", { x1: LEFT, x2: WIDTH, y1: y(level), y2: y(level), class: "grid" }),
    svg("text", { x: LEFT - 6, y: y(level) + 4, "text-anchor": "end" }, format(level)),
  ]);
  const last = points.length - 1;
  const along = [...new Set([0, Math.floor(last / 2), last])].map((index) =>
    svg("text", { x: x(index), y: HEIGHT - 6, "text-anchor": index === 0 ? "start" : index === last ? "end" : "middle" },
      time(points[index].at).slice(0, 5)));
  return [...across.flat(), ...along];
}

function line({ name, value, filled }, points, { x, y }) {
  const path = points.map((point, index) => `${index ? "L" : "M"}${x(index).toFixed(1)} ${y(value(point)).toFixed(1)}`).join("");
  const area = `${path}L${x(points.length - 1).toFixed(1)} ${y(0)}L${x(0).toFixed(1)} ${y(0)}Z`;
  return svg("path", { d: filled ? area : path, class: `series ${name.replaceAll(" ", "-")}${filled ? " filled" : ""}` });
}

function legend(series) {
  return el("ul", { class: "legend", "aria-hidden": "true" },
    series.map(({ name }) => el("li", { class: name.replaceAll(" ", "-") }, name)));
}

function numbers(title, series, points, format) {
  const columns = [{ title: "Minute", value: ({ at }) => time(at).slice(0, 5) },
    ...series.map(({ name, value }) => ({ title: name, number: true, value: (point) => format(value(point)) }))];
  const busy = points.filter((point) => series.some(({ value }) => value(point)));
  return el("details", {}, el("summary", {}, "Numbers"), table(title, columns, busy, "Nothing yet."));
}

// Bars for a handful of named counts.
export function bars(title, counts, empty) {
  const rows = Object.entries(counts ?? {}).sort((one, other) => other[1] - one[1]);
  if (!rows.length) return el("p", { class: "empty" }, empty);
  const all = rows.reduce((sum, [, value]) => sum + value, 0);
  return table(title, [
    { title: "Kind", value: ([name]) => name },
    { title: "Count", number: true, value: ([, value]) => String(value) },
    { title: "Share", value: ([, value]) => el("meter", { min: 0, max: all, value, "aria-label": `${value} of ${all}` }) },
  ], rows, empty);
}
