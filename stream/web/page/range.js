// The stretch of time that the detail view shows.

import { now } from "./api.js";
import { utc } from "./format.js";

/** How many windows are shown if nobody asks for a range. */
const usual = 120;

/** Ranges to choose from that hold some windows: the name of the button, and what stands in the address. */
export const choices = (every) => [[`${usual} windows`, undefined], ...["1h", "1d", "7d", "30d", "90d", "365d"].filter((range) => back(`-${range}`) >= 10 * every).slice(0, 3)
  .map((range) => [range.replace(/(\d+)/, "$1 "), `-${range}`]), ["all", "all"]];

const units = { m: 60, h: 3600, d: 86400 };

/** Seconds of a range such as -1h; undefined if it is none. */
export function back(text) {
  const [, number, unit] = /^-(\d+)([mhd])$/.exec(text ?? "") ?? [];
  return unit ? number * units[unit] : undefined;
}

const instant = (text) => {
  const at = Date.parse(text ?? "") / 1000;
  return Number.isFinite(at) ? at : undefined;
};

/**
 * What to ask api/v1/releases for.
 * @param {{from?: string, to?: string}} route
 * @param {number|null} past from when on what was before a silence is shown
 * @param {number} newest the end of the newest window
 * @param {number} every seconds from window to window
 */
export function query({ from, to }, past, newest, every) {
  if (from === "all") return {};
  const length = back(from);
  if (length) return { from: utc(Math.floor(now() - length)) };
  const start = instant(from), end = instant(to);
  if (start === undefined && end === undefined) return past !== null && past < newest - usual * every ? { from: utc(Math.floor(past)) } : { last: usual };
  return { from: start && utc(start), to: end && utc(end) };
}

/** Where a plot of the newest windows begins: with the first window of a young stream. */
export const beginning = (most, oldest, end, every) => end - Math.min(most, Math.max(1, (end - oldest) / every)) * every;

/**
 * From when to when is shown. The others are those of query.
 * @param {number} oldest the start of the oldest window that is known
 */
export function stretch({ from, to }, oldest, newest, every, past) {
  if (from === "all") return [oldest, newest];
  const length = back(from);
  if (length) return [newest - Math.max(length, every), newest];
  const end = instant(to) ?? newest, begin = beginning(usual, oldest, end, every);
  return [instant(from) ?? (past === null || to ? begin : Math.min(begin, Math.max(oldest, past))), end];
}
