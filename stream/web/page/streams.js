// What is public of the streams, and which of them need a look.

import { now } from "./api.js";
import { clock, figureText, plain, reasonText, span, utc } from "./format.js";
import { alarmed, counts, isWatch, sinceOf } from "./figures.js";

/** How long after the time that is due a figure is late, in seconds. */
const patience = 10;

/** The release that stands for a stream: the first that is no count and no total, else the first total. */
export const mainRelease = (stream) => (stream.releases.find((r) => !counts(r.statistic) && !isWatch(r.statistic) && !r.total) ??
  stream.releases.find((r) => r.total) ?? stream.releases[0])?.release ?? "";

/** Seconds from one window to the next. */
export const everyOf = (stream) => stream.window.every_seconds ?? stream.window.size_seconds ?? 60;

/** Parses a time of the API into seconds; null stays null. */
export const seconds = (time) => time === null || time === undefined ? null : Date.parse(time) / 1000;

/** What would make a figure of the newest window readable that is only noise, if anything is known. */
export const remedyOf = (stream, { group, release }) => stream.remedies.find((r) => r.group === group && r.release === release);

/** What helps everywhere where these remedies would help, or "". */
export function remedyText(...remedies) {
  const most = (name) => Math.max(...remedies.map((r) => r?.[name] ?? Infinity));
  const [users, epsilon] = [most("users"), most("epsilon")];
  const ways = [Number.isFinite(users) ? `about ${plain(users)} users` : "", Number.isFinite(epsilon) ? `ε ${epsilon}` : ""].filter(Boolean);
  return ways.length > 0 ? `${ways.join(" or ")} would do` : "";
}

/** What a watch says of a window: since it fired it waits, and is armed again for the first window that begins after its hold. */
export function watchText(stream, figure) {
  const hold = stream.releases.find((r) => r.release === figure.release)?.hold_seconds ?? null;
  const every = everyOf(stream), since = sinceOf(figure);
  const again = alarmed(figure) && hold !== null ? since + every * Math.ceil((hold + (stream.window.size_seconds ?? every)) / every) : null;
  return [figureText(figure).error, again === null ? "" : `armed again at ${clock(again)}`].filter(Boolean).join(", ");
}

/** @returns {{since: string, users_at_most: number}|null} what is said of a group, or of the stream if it is not given */
export const silenceOf = (stream, group) => group === undefined ? stream.silent : stream.silent_groups.find((g) => g.group === group) ?? null;

/** Since when, in words. */
export const silenceText = (stream, silence) => `hardly anybody${stream.max_windows ? " who still counts" : ""} since ${clock(seconds(silence.since))}`;

/** Why, in words. */
export const silenceReason = (silence) => `The released counts since ${utc(seconds(silence.since))} are within their noise. At most ${plain(silence.users_at_most)} users were in the newest window (95 %).`;

/**
 * The worst of a stream: what to look at, and how urgent it is. Who looks at one group is told whose an alarm is.
 * @param {import("./figures.js").Figures} figures
 * @param {string} [group]
 * @returns {{rank: number, kind: "bad"|"warn"|"good"|"none", text: string, title?: string, what?: "alarm"|"incomplete"|"silent"|"withheld"|"late"}}
 */
export function needs(stream, figures, group) {
  const newest = (stream.all ?? stream.groups).flatMap((g) => stream.releases.map((r) => figures.newest(stream.stream, g, r.release))).filter(Boolean);
  const end = Math.max(...newest.map((f) => f.end));
  const current = newest.filter((f) => f.end === end);
  const due = seconds(stream.next_due_at);
  const alarms = current.filter(alarmed), own = alarms.filter((f) => group === undefined || f.group === group);
  if (alarms.length > 0) {
    const kind = own.length > 0 ? "bad" : "warn"; // it lasts until the watch is armed again
    const text = (own.length > 0 ? own : alarms).map((f) => `${f.release}${f.group && f.group !== group ? ` in ${f.group}` : ""} ${watchText(stream, f)}`).join("; ");
    return { rank: 0, kind, what: "alarm", text: `${own.length > 0 ? "alarm" : "alarm of another group"}: ${text}` };
  }
  if (current.some((f) => f.incomplete)) return { rank: 1, kind: "warn", what: "incomplete", text: "the newest window is incomplete: part of its input was lost" };
  const withheld = current.filter((f) => f.status !== "ok" && f.reason !== "not_armed");
  const silence = silenceOf(stream, group) ?? silenceOf(stream);
  const late = due !== null && now() > due + patience;
  if (silence && !late && withheld.every((f) => f.reason === "too_few_users")) {
    return { rank: 4, kind: "warn", what: "silent", text: silenceText(stream, silence), title: silenceReason(silence) };
  }
  if (withheld.length > 0) {
    const part = withheld.length < current.length ? "some figures are withheld" : "withheld";
    return { rank: 2, kind: "warn", what: "withheld", text: `${part}: ${reasonText(withheld[0].reason)}` };
  }
  if (late) return { rank: 3, kind: "bad", what: "late", text: `late: due at ${clock(due, true)}, ${span(now() - due)} ago` };
  if (newest.length === 0) return { rank: 5, kind: "none", text: due === null ? "no window yet" : `the first window closes at ${clock(due, true)}` };
  const text = due === null ? "no further window is due" : "on time";
  if (current.every((f) => f.status === "ok" && f.quality === "noise")) return { rank: 6, kind: "none", text: `${text}, only noise`, title: "Every figure of the newest window is only noise." };
  return { rank: 6, kind: "good", text };
}
