// The figures that the page has in memory.

import { fields } from "./api.js";

/**
 * A record of api/v1/releases: the fields that the page asks for, its window in seconds since 1970, and a share in percent.
 * @typedef {Object} Figure
 * @property {number} start
 * @property {number} end
 * @property {number|null} value
 * @property {"ok"|"withheld"} status
 * @property {number|null} [low] the band: the figure of the window lies between low and high
 * @property {number|null} [high]
 * @property {"useful"|"rough"|"noise"|null} quality
 * @property {string|null} since of a watch that fires; of a figure on change: the end of the window that it was drawn in
 * @property {boolean} [changed] only of a figure on change: whether it was drawn in this window
 * @property {boolean} [final] only of a running total: whether it is the last one of its period
 */

/** The fields of a record that the page keeps. */
const names = fields.split(",").filter((name) => !name.startsWith("window_"));

/** How many windows of a series are kept, unless a view holds more. */
export const kept = 60;

export class Figures {
  #series = new Map();
  /** Says of which streams and groups all windows are kept. */
  holds = () => false;
  /** Says of which groups only the newest window is kept. */
  few = () => false;
  /** Says of a group that is silent from when to when its windows are kept as well; null of all others. */
  past = () => null;
  /**
   * What is said of figures that begin to differ from those before by more than noise and the usual variation explain, by id.
   * @type {Map<string, {direction: "above"|"below", median: number, sentence: string}>}
   */
  signals = new Map();
  #compared = new Map(); // whether the newest figure of a series is compared with those before it

  /**
   * Takes records in, or figures. One with the same id replaces the one before.
   * @returns {Figure[]} those that are new or changed
   */
  merge(records) {
    const changed = [];
    const grown = new Set();
    for (const record of records) {
      const figure = { start: record.start ?? Date.parse(record.window_start) / 1000, end: record.end ?? Date.parse(record.window_end) / 1000 };
      for (const name of names) if (record[name] !== undefined) figure[name] = record[name];
      inPercent(figure);
      const key = keyOf(figure.stream, figure.group, figure.release);
      if (!this.#series.has(key)) this.#series.set(key, []);
      const series = this.#series.get(key);
      if (insert(series, figure)) changed.push(figure);
      grown.add(series);
    }
    for (const series of grown) this.#trim(series);
    return changed;
  }

  /** @returns {Figure[]} the windows of a series, oldest first */
  of(stream, group, release) {
    return this.#series.get(keyOf(stream, group, release)) ?? [];
  }

  /** @returns {Figure|undefined} */
  newest(stream, group, release) {
    return this.of(stream, group, release).at(-1);
  }

  /** Takes in what api/v1/signals says. */
  hear({ signals, series }) {
    for (const signal of signals) this.signals.set(signal.id, signal);
    for (const { stream, group, release, compared } of series) this.#compared.set(keyOf(stream, group, release), compared);
  }

  /** Whether it would be said of a figure if it differed from those before it. */
  compares({ stream, group, release }) {
    return this.#compared.get(keyOf(stream, group, release)) ?? false;
  }

  /** Drops the windows that no view holds any more. */
  trim() {
    for (const series of this.#series.values()) this.#trim(series);
  }

  /** Drops all. */
  clear() {
    this.#series.clear();
  }

  #trim(series) {
    if (series.length < 2 || this.holds(series[0])) return;
    const most = this.few(series[0]) ? 1 : kept;
    const [from, to] = this.past(series[0]) ?? [Infinity, -Infinity], old = series.length - most;
    const last = series.findLast(readable); // stays, however long noise lasts
    const stay = series.filter((figure, i) => i >= old || figure === last || figure.end > from && figure.start < to);
    if (stay.length < series.length) series.splice(0, series.length, ...stay);
  }
}

/** A share is read as 17 %. The API has 0.17. */
function inPercent(figure) {
  if (figure.statistic !== "share" || figure.unit === "%") return;
  for (const [of, name] of [[figure, "value"], [figure, "low"], [figure, "high"], [figure.smoothed, "value"]]) {
    if (typeof of?.[name] === "number") of[name] = Number((100 * of[name]).toPrecision(12));
  }
  figure.unit = "%";
}

const keyOf = (stream, group, release) => `${stream}/${group}/${release}`;

/** Puts a figure in its place; false if it is there already. */
function insert(series, figure) {
  let low = 0, high = series.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order(series[middle], figure) < 0) low = middle + 1;
    else high = middle;
  }
  if (series[low]?.id === figure.id) {
    const same = JSON.stringify(series[low]) === JSON.stringify(figure);
    series[low] = figure;
    return !same;
  }
  series.splice(low, 0, figure);
  return true;
}

const order = (a, b) => a.end - b.end || a.start - b.start;

/**
 * The band of a figure, in the value's unit. null where the record says none.
 * @param {Figure} figure
 * @returns {{low: number, high: number}|null}
 */
export const band = ({ status, low, high }) => status === "ok" && typeof low === "number" && typeof high === "number" ? { low, high } : null;

/** Whether there is a value that is more than noise. */
export const readable = (figure) => figure.status === "ok" && figure.quality !== "noise";

/** Whether the band goes as far below the value as above it, because the noise does. */
export function isEven({ value, low, high, basis }) {
  const above = high - value, below = value - low;
  return (basis === "noise" || basis === "clipped") && Math.abs(above - below) <= 1e-9 * (above + below);
}

/** Whether the band says of a number of users only how many there are at most. */
export const isAtMost = (figure) => band(figure)?.low === 0 && counts(figure.statistic);

/** Watches are alarms: 1 once one has fired, 0 while it is silent. */
export const isWatch = (statistic) => statistic === "watch";

/** Whether a watch has fired, in this window or before, and is not armed again yet. */
export const alarmed = (figure) => isWatch(figure.statistic) && figure.value === 1;

/** When a watch fired or a figure on change was drawn, in seconds since 1970. */
export const sinceOf = ({ since, end }) => since ? Date.parse(since) / 1000 : end;

/** Whether a watch fires in this window. In the windows after it the watch waits, and looks at nothing. */
export const fires = (figure) => alarmed(figure) && sinceOf(figure) === figure.end;

/** Whether a figure is drawn only when it has changed, and its value held until then. */
export const isHeld = (figure) => typeof figure.changed === "boolean";

/** Whether a figure is a running total. */
export const isTotal = (figure) => typeof figure.final === "boolean";

/** Counts of users have an axis of their own. */
export const counts = (statistic) => ["count", "outside", "histogram"].includes(statistic);
