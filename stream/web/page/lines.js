// Series as a plot shows them.

import { band } from "./figures.js";

/**
 * A series in a plot.
 * @typedef {Object} Line
 * @property {string} name
 * @property {number} color which of the palette
 * @property {import("./figures.js").Figure[]} figures oldest first
 * @property {number|null} every seconds from one window to the next; null: windows do not overlap
 */

/** From when to when a figure is drawn: its window, or the newest part of one that overlaps the one before. */
export const from = (line, figure) => line.every ? Math.max(figure.start, figure.end - line.every) : figure.start;

/** The figures of a line that lie at least partly between two times. */
export function visible(line, start, end) {
  return line.figures.filter((figure) => figure.end > start && from(line, figure) < end);
}

/**
 * The values that the axis shows: every value and band, and room around them, so that noise does not fill the plot. It
 * begins with 0 where that takes at most half of it.
 * @param {Line[]} lines
 * @returns {[number, number]}
 */
export function axisOf(lines, start, end) {
  let low = Infinity, high = -Infinity;
  for (const line of lines) {
    for (const figure of visible(line, start, end)) {
      if (figure.status !== "ok" || figure.quality === "noise") continue;
      const around = band(figure);
      low = Math.min(low, figure.value, around?.low ?? Infinity);
      high = Math.max(high, figure.value, around?.high ?? -Infinity);
    }
  }
  if (low > high) return [0, 1];
  if (low >= 0 && low <= high / 2) return [0, high * 1.1 || 1];
  const room = (high - low) / 2 || Math.abs(high) / 10;
  return [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
}

/** Lines as uPlot wants them: times, and for each line its values that are drawn solid and those that are dashed. */
export function columns(lines, start, end) {
  const shown = lines.map((line) => visible(line, start, end));
  const times = new Set([start, end]);
  lines.forEach((line, i) => shown[i].forEach((figure) => times.add(from(line, figure)).add(figure.end)));
  const xs = [...times].sort((a, b) => a - b);
  const at = new Map(xs.map((x, i) => [x, i]));
  const data = [xs];
  lines.forEach((line, i) => {
    const solid = new Array(xs.length).fill(null), dashed = new Array(xs.length).fill(null);
    for (const figure of shown[i]) {
      if (figure.status !== "ok" || figure.quality === "noise") continue;
      const column = figure.quality === "rough" ? dashed : solid;
      for (let x = at.get(from(line, figure)); xs[x] < figure.end; x++) column[x] = figure.value;
    }
    data.push(solid, dashed);
  });
  return data;
}
