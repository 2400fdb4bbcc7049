// What is public of the streams, and which of them need a look.

import { now } from "./api.js";
import { clock, reasonText, span } from "./format.js";
import { counts, fires, isWatch } from "./figures.js";

/** How long after the time that is due a figure is late, in seconds. */
const patience = 10;

/** The release that stands for a stream: the first that is no count. */
export const mainRelease = (stream) => (stream.releases.find((r) => !counts(r.statistic) && !isWatch(r.statistic)) ?? stream.releases[0])?.release ?? "";

/** Seconds from one window to the next. */
export const everyOf = (stream) => stream.window.every_seconds ?? stream.window.size_seconds ?? 60;

/** Parses a time of the API into seconds; null stays null. */
export const seconds = (time) => time === null || time === undefined ? null : Date.parse(time) / 1000;

/**
 * The worst of a stream: what to look at, and how urgent it is.
 * @param {import("./figures.js").Figures} figures
 * @returns {{rank: number, kind: "bad"|"warn"|"good"|"none", text: string, what?: "alarm"|"incomplete"|"withheld"|"late"}}
 */
export function needs(stream, figures) {
  const newest = stream.groups.flatMap((g) => stream.releases.map((r) => figures.newest(stream.stream, g, r.release))).filter(Boolean);
  const end = Math.max(...newest.map((f) => f.end));
  const current = newest.filter((f) => f.end === end);
  const due = seconds(stream.next_due_at);
  const alarms = current.filter(fires);
  if (alarms.length > 0) {
    const groups = alarms.map((f) => f.group).filter(Boolean);
    return { rank: 0, kind: "bad", what: "alarm", text: `alarm: ${[...new Set(alarms.map((f) => f.release))].join(", ")}${groups.length ? ` in ${[...new Set(groups)].join(", ")}` : ""} since ${clock(Math.min(...alarms.map((f) => seconds(f.since) ?? f.end)))}` };
  }
  if (current.some((f) => f.incomplete)) return { rank: 1, kind: "warn", what: "incomplete", text: "the newest window is incomplete: part of its input was lost" };
  const withheld = current.filter((f) => f.status !== "ok" && f.reason !== "not_armed");
  if (withheld.length > 0) {
    const part = withheld.length < current.length ? "some figures are withheld" : "withheld";
    return { rank: 2, kind: "warn", what: "withheld", text: `${part}: ${reasonText(withheld[0].reason)}` };
  }
  if (due !== null && now() > due + patience) return { rank: 3, kind: "bad", what: "late", text: `late: due at ${clock(due)}, ${span(now() - due)} ago` };
  if (newest.length === 0) return { rank: 4, kind: "none", text: due === null ? "no window yet" : `the first window closes at ${clock(due)}` };
  return { rank: 5, kind: "good", text: due === null ? "no further window is due" : "on time" };
}
