// Numbers, times and names as people read them.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false });

export const count = (value) => whole.format(Math.round(value ?? 0));
export const compact = (value) => short.format(value ?? 0);
export const percent = (part, all) => (all ? `${Math.round((100 * part) / all)} %` : "–");
export const time = (seconds) => clock.format(new Date(seconds * 1000));
export const date = (seconds) => (seconds ? day.format(new Date(seconds * 1000)) : "–");
export const shortId = (id) => (id ?? "").slice(0, 8);

// Cents matter at one end and thousands at the other; a minus is never hidden.
export function dollars(value) {
  if (value === undefined || value === null) return "–";
  const size = Math.abs(value);
  const digits = size === 0 || size >= 1 ? 2 : size >= 0.01 ? 4 : 6;
  return `${value < 0 ? "−" : ""}$${size.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: digits })}`;
}

export function seconds(value) {
  if (value === undefined || value === null) return "–";
  return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`;
}

export function duration(value) {
  const hours = Math.floor(value / 3600);
  const minutes = Math.floor((value % 3600) / 60);
  return hours >= 48 ? `${Math.floor(hours / 24)} days` : hours ? `${hours} h ${minutes} min` : `${minutes} min`;
}

// Sums of every route and model in one.
export function total(models) {
  const sums = {};
  for (const perModel of Object.values(models ?? {}))
    for (const entries of Object.values(perModel))
      for (const [name, value] of Object.entries(entries)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
}

export function net(sums) {
  if (sums.after_cost === undefined) return undefined;
  return (sums.before_cost ?? 0) - sums.after_cost - (sums.summary_cost ?? 0);
}
