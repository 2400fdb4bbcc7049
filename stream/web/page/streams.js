// What is public of the streams, and which of them need a look.

import { now } from "./api.js";
import { clock, figureText, plain, reasonText, span, tooFew, utc } from "./format.js";
import { alarmed, counts, isWatch, kept, readable, sinceOf } from "./figures.js";

/** How long after the time that is due a figure is late, in seconds. */
const patience = 10;

/** The release that stands for a stream: no count, and of windows, if there is such a one. */
export const mainRelease = ({ releases: all }) => {
  const best = all.filter((r) => !counts(r.statistic) && !isWatch(r.statistic));
  return (best.find((r) => !r.total) ?? best[0] ?? all.find((r) => r.total) ?? all[0])?.release ?? "";
};

/** The groups that have the release; all groups together may lack it. */
export const groupsOf = (stream, figures, release, groups = stream.groups) => groups.filter((g) => g !== stream.together || figures.newest(stream.stream, g, release));

/** Seconds from one window to the next. */
export const everyOf = (stream) => stream.window.every_seconds ?? stream.window.size_seconds ?? 60;

/** Parses a time of the API into seconds; null stays null. */
export const seconds = (time) => time == null ? null : Date.parse(time) / 1000;

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

/** What watches say that fire; those that fired at once are told together. */
export const alarmText = (stream, alarms, name = (f) => f.release) =>
  [...Map.groupBy(alarms, (f) => watchText(stream, f))].map(([text, those]) => `${those.map(name).join(", ")} ${text}`).join("; ");

/** @returns {{since: string, users_at_most: number}|null} what is said of a group, or of the stream if it is not given */
export const silenceOf = (stream, group) => group === undefined ? stream.silent : stream.silent_groups.find((g) => g.group === group) ?? null;

/** Since when, in words. */
const silenceText = (stream, silence) => `hardly anybody${stream.max_windows ? " who still counts" : ""} since ${clock(seconds(silence.since))}`;

/** Why, in words. */
const silenceReason = (silence) => `The released counts since ${utc(seconds(silence.since))} are within their noise. At most ${plain(silence.users_at_most)} users were in the newest window (95 %).`;

/** A change lasts while one of so many figures in a row has not returned half of the way: noise moves single ones. */
const steady = 3;

const beyond = (figure, { direction, half }) => readable(figure) && (direction === "above" ? figure.value > half : figure.value < half);

/**
 * How a series still differs by more than noise and the usual variation explain.
 * @returns {{direction: "above"|"below", sentence: string, half: number, since: number}|null}
 */
function changeOf(stream, list, signals) {
  let change = null;
  const past = [], lasts = () => past.slice(-steady).some((figure) => beyond(figure, change));
  for (const figure of list.slice(-kept)) {
    const signal = signals.get(figure.id), same = signal?.direction === change?.direction;
    if (signal && !(same && lasts())) {
      change = change && !same && !beyond(figure, change) ? null :
        { ...signal, half: (figure.value + signal.median * (figure.statistic === "share" ? 100 : 1)) / 2, since: Math.max(figure.start, figure.end - everyOf(stream)) };
    }
    past.push(figure);
  }
  return change && lasts() ? change : null;
}

/**
 * What is said of the newest figure of a series, in a reader's words: nothing of one that is not compared with those before it.
 * @param {import("./figures.js").Figure[]} list oldest first
 * @param {import("./figures.js").Figures} figures
 * @returns {{kind: "silent"|"few"|"withheld"|"changed"|"normal"|"", text: string, title: string}}
 */
export function stateOf(stream, list, figures) {
  const figure = list.at(-1), say = (kind, text = "", title = "") => ({ kind, text, title });
  if (!figure || isWatch(figure.statistic)) return say("");
  const silence = silenceOf(stream, figure.group), few = figure.quality === "noise" || figure.reason === "too_few_users";
  if (few && silence) return say("silent", silenceText(stream, silence), silenceReason(silence));
  if (few) return say("few", tooFew);
  if (figure.status !== "ok") return say("withheld", reasonText(figure));
  const change = changeOf(stream, list, figures.signals);
  if (change) return say("changed", `${change.direction === "above" ? "↑ higher" : "↓ lower"} since ${clock(change.since)}`, change.sentence);
  return figures.compares(figure) ? say("normal", "normal", "Noise and the usual variation explain how it differs from the hour before.") : say("");
}

/** The last value of a series that is more than noise, and when that was, or "". */
export function lastText(list) {
  const last = list.findLast(readable), { value, unit, error } = last ? figureText(last) : {};
  return last ? `${value} ${unit} ${error} at ${clock(last.end)}` : "";
}

/**
 * The worst of a stream: what to look at, and how urgent it is. Who looks at one group is told whose an alarm is.
 * @param {import("./figures.js").Figures} figures
 * @param {string} [group]
 * @returns {{rank: number, kind: "bad"|"warn"|"good"|"none", text: string, title?: string, what?: string}}
 */
export function needs(stream, figures, group) {
  const newest = (stream.all ?? stream.groups).flatMap((g) => stream.releases.map((r) => figures.newest(stream.stream, g, r.release))).filter(Boolean);
  const end = Math.max(...newest.map((f) => f.end));
  const current = newest.filter((f) => f.end === end);
  const due = seconds(stream.next_due_at);
  const alarms = current.filter(alarmed), own = alarms.filter((f) => group === undefined || f.group === group);
  if (alarms.length > 0) {
    const bad = own.length > 0, those = bad ? own : alarms, several = new Set(those.map((f) => f.group)).size > 1;
    const name = (f) => `${f.release}${f.group && f.group !== group ? ` in ${f.group}` : ""}`, of = bad ? "alarm" : `alarm of ${several ? "other groups" : "another group"}`;
    const title = `${of}: ${alarmText(stream, those, name)}`;
    const brief = [...Map.groupBy(those, (f) => f.release)].map(([release, all]) => all.length > 1 ? `${release} in ${all.length} groups` : name(all[0]));
    // It lasts until the watch is armed again. The title has all names and times.
    return { rank: 0, kind: bad ? "bad" : "warn", what: "alarm", text: several ? `${of}: ${brief.join(", ")}` : title, title };
  }
  if (current.some((f) => f.incomplete)) return { rank: 1, kind: "warn", what: "incomplete", text: "the newest window is incomplete: part of its input was lost" };
  const withheld = current.filter((f) => f.status !== "ok" && f.reason !== "not_armed");
  const silence = silenceOf(stream, group) ?? silenceOf(stream);
  const late = due !== null && now() > due + patience;
  if (silence && !late && withheld.every((f) => f.reason === "too_few_users")) {
    return { rank: 4, kind: "warn", what: "silent", text: silenceText(stream, silence), title: silenceReason(silence) };
  }
  if (withheld.length > 0) {
    const part = withheld.length < current.length ? "some figures are withheld" : "withheld", [first] = withheld;
    return { rank: 2, kind: "warn", what: "withheld", text: first.reason === "too_few_users" && part === "withheld" ? tooFew : `${part}: ${reasonText(first)}` };
  }
  if (late) return { rank: 3, kind: "bad", what: "late", text: `late: due at ${clock(due, true)}, ${span(now() - due)} ago` };
  const main = mainRelease(stream);
  const states = (group === undefined ? groupsOf(stream, figures, main, stream.all) : [group]).map((g) => ({ ...stateOf(stream, figures.of(stream.stream, g, main), figures), group: g }));
  const changed = Map.groupBy(states.filter((state) => state.kind === "changed"), (state) => state.text);
  if (changed.size > 0) {
    const text = [...changed].map(([text, those]) => group === undefined && those[0].group ? `${text} in ${those.map((state) => state.group).join(", ")}` : text).join("; ");
    return { rank: 5, kind: "warn", what: "changed", text: `${main} ${text}` };
  }
  if (newest.length === 0) return { rank: 6, kind: "none", text: due === null ? "no window yet" : `the first window closes at ${clock(due, true)}` };
  if (states.every((state) => state.kind === "few")) return { rank: 7, kind: "none", text: tooFew, title: `What noise leaves of ${main} cannot be read.` };
  if (due === null && stream.declared) return { rank: 7, kind: "good", text: "no further window is due" };
  return { rank: 7, kind: "good", text: states.some((state) => state.kind === "normal") ? "normal" : "up to date" };
}
