// Series as a plot shows them.

import { band, isTotal, isWatch, readable } from "./figures.js";

/**
 * A series in a plot.
 * @typedef {Object} Line
 * @property {string} name
 * @property {string} statistic
 * @property {number} color which of the palette
 * @property {import("./figures.js").Figure[]} figures oldest first
 * @property {number|null} every seconds from one window to the next; null: windows do not overlap
 * @property {number} [update] of a running total: seconds from one value to the next
 * @property {Object} [total] of a running total: which periods it has, as the API says it
 * @property {Object} [before] the period before, as totals.js has it
 */

/** From when to when a figure is drawn: its window, or the newest part of one that overlaps the one before. */
export const from = (line, figure) => line.update ? figure.end - line.update : line.every ? Math.max(figure.start, figure.end - line.every) : figure.start;

/** The figures of a line that lie at least partly between two times. */
export function visible(line, start, end) {
  const { figures } = line; // in the order of their ends
  let first = 0, last = figures.length;
  while (first < last && figures[first].end <= start) first++;
  while (last > first && from(line, figures[last - 1]) >= end) last--;
  return first === 0 && last === figures.length ? figures : figures.slice(first, last);
}

/** Whether a line has nothing but noise between two times. */
export function isNoise(line, start, end) {
  const shown = visible(line, start, end).filter((figure) => figure.status === "ok");
  return shown.length > 0 && shown.every((figure) => figure.quality === "noise");
}

/**
 * When a line begins anew, although there is no gap: each period of a running total is a line of its own.
 * @returns {Set<number>}
 */
export function beginnings(line, start, end) {
  const shown = visible(line, start, end);
  return new Set(shown.filter((figure, i) => i > 0 && isTotal(figure) && figure.since !== shown[i - 1].since).map((figure) => from(line, figure)));
}

/**
 * The values that the axis shows: every value and band that is no noise, and room around them, so that noise does not fill the plot. It
 * begins with 0 where that takes at most half of it. Several figures on one axis, such as p50 and p99, have a logarithmic one.
 * @param {Line[]} lines
 * @returns {[number, number, boolean?]} the last says that it is logarithmic
 */
export function axisOf(lines, start, end) {
  const [low, high] = extent(lines, start, end);
  if (low > high) return [0, 1];
  if (lines.length > 1 && low >= 0 && high > 0) return [Math.max(low, high / 1000) / 1.2, high * 1.2, true];
  if (low >= 0 && low <= high / 2) return [0, high * 1.1 || 1];
  const room = (high - low) / 2 || Math.abs(high) / 10;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

/** A mode is a value that occurs. Between two there is nothing, so they are dots and no line. */
export const dotted = (line) => line.statistic === "mode";

const sameWindows = (a, b) => a.length === b.length && a.every((figure, i) => figure.end === b[i].end && figure.start === b[i].start);

/** The least and the greatest of values and bands that are no noise. */
function extent(lines, start, end) {
  let low = Infinity, high = -Infinity;
  for (const line of lines) {
    for (const figure of visible(line, start, end)) {
      if (!readable(figure)) continue;
      const around = band(figure);
      low = Math.min(low, figure.value, around?.low ?? Infinity);
      high = Math.max(high, figure.value, around?.high ?? -Infinity);
    }
    for (const [, , value] of line.before?.steps ?? []) [low, high] = [Math.min(low, value), Math.max(high, value)];
  }
  return [low, high];
}

/**
 * Lines as uPlot wants them: times, and for each line its values that are drawn solid, those that are dashed and, if
 * wanted, the smoothed ones.
 */
export function columns(lines, start, end, smoothed) {
  const shown = lines.map((line) => visible(line, start, end));
  const times = new Set([start, end]);
  lines.forEach((line, i) => {
    if (i > 0 && line.every === lines[i - 1].every && sameWindows(shown[i], shown[i - 1])) return;
    shown[i].forEach((figure) => times.add(from(line, figure)).add(figure.end));
  });
  const xs = [...times].sort((a, b) => a - b);
  const data = [xs];
  lines.forEach((line, i) => {
    const [solid, dashed, smooth] = [true, true, smoothed].map((wanted) => wanted ? new Array(xs.length).fill(null) : []);
    let x = 0;
    for (const figure of dotted(line) || isWatch(line.statistic) ? [] : shown[i]) {
      if (!readable(figure)) continue;
      const column = figure.quality === "rough" ? dashed : solid;
      const begin = from(line, figure);
      while (xs[x] < begin) x++;
      for (; xs[x] < figure.end; x++) {
        column[x] = figure.value;
        if (smoothed) smooth[x] = figure.smoothed?.value ?? null;
      }
    }
    data.push(solid, dashed);
    if (smoothed) data.push(smooth);
  });
  return data;
}
