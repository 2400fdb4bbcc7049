// Numbers, times and words as people read them.

import { now } from "./api.js";
import { h } from "./dom.js";
import { alarmed, band, fires, isAtMost, isEven, isHeld, isWatch, sinceOf } from "./figures.js";

/**
 * The place of the last digit that an error of that size allows: 1 for tens, 0 for units, −1 for tenths. One digit of the
 * error is shown, two if it begins with 1 or 2.
 */
function placeOf(error) {
  const place = Math.floor(Math.log10(error) + 1e-9);
  return error / 10 ** place < 3 - 1e-9 ? place - 1 : place;
}

const formats = new Map();

function decimal(value, place) {
  const digits = Math.min(12, Math.max(0, -place));
  if (!formats.has(digits)) formats.set(digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  const unit = 10 ** Math.max(0, place); // what is behind the point, the format rounds
  return formats.get(digits).format(place > 0 ? Math.round(value / unit) * unit : value).replace(/^-(?=[0.]*$)/, "").replace("-", "−");
}

/** A value with the digits that its error allows, but no more than there are behind the point; without a known error, with four. */
export function rounded(value, error, digits = Infinity) {
  if (value === 0 && !error) return "0";
  const place = error > 0 ? Math.max(placeOf(error), -digits) : Math.floor(Math.log10(Math.abs(value))) - 3;
  return error > 0 || Math.abs(value) < 1000 ? decimal(value, trimmed(value, place, error)) : decimal(value, 0);
}

/** Without an error, digits behind the point that are zeros are left out. */
function trimmed(value, place, error) {
  if (error > 0) return place;
  while (place < 0 && Math.abs(value / 10 ** (place + 1) - Math.round(value / 10 ** (place + 1))) < 1e-9) place++;
  return place;
}

/** How many digits numbers have behind the point. */
const digits = (...numbers) => Math.max(...numbers.map((number) => (String(number).split(".")[1] ?? "").length));

/** An error, rounded up. */
export function roundedUp(error) {
  if (error === 0) return "0";
  const place = placeOf(error);
  const unit = 10 ** place;
  return decimal(Math.ceil(error / unit - 1e-9) * unit, place);
}

/**
 * What somebody loses, in four digits: rounded up, since it is a bound, but not beyond a limit that it does not exceed. The API
 * has all digits.
 */
export function lossText(epsilon, limit = Infinity) {
  const loss = Number(epsilon);
  if (loss === 0) return "0";
  const place = Math.min(0, Math.floor(Math.log10(loss)) - 3), unit = 10 ** -place;
  const up = Math.ceil(loss * unit - 1e-9) / unit;
  return up > limit && loss <= limit ? plain(Number(limit)) : decimal(up, trimmed(up, place));
}

/**
 * A figure in words, short enough for a card.
 * @param {import("./figures.js").Figure} figure
 * @returns {{value: string, unit: string, error: string, exact: string}}
 */
export function figureText(figure) {
  if (figure.reason === "too_few_users") return { value: tooFew, unit: "", error: "", exact: "" };
  if (figure.status !== "ok") return { value: figure.reason === "not_armed" ? "–" : "withheld", unit: "", error: reasonText(figure), exact: "" };
  if (isWatch(figure.statistic)) {
    const value = fires(figure) ? "fires" : alarmed(figure) ? "waits" : "silent";
    return { value, unit: "", error: alarmed(figure) ? `fired ${clock(sinceOf(figure))}` : "", exact: "" };
  }
  const { value, unit, p_low: low, p_high: high } = figure;
  const around = band(figure);
  const exact = `exactly ${value} ${unit}${around ? `, band ${reach(String(around.low), String(around.high))}` : ""}`;
  if (isHeld(figure)) return { value: rounded(value), unit, error: figure.changed ? "drawn anew" : sinceText(figure), exact };
  if (!around) return { value: rounded(value), unit, error: low !== null && high !== null ? percentiles(figure) : "no band", exact };
  const of = unknown(figure) ? "noise " : "";
  if (isEven(figure)) {
    const off = around.high - value;
    return { value: rounded(value, off, digits(value, around.low, around.high)), unit, error: `${of}± ${roundedUp(off)}`, exact };
  }
  const place = placeIn(around, value), ends = endsOf(around, place);
  return { value: decimal(value, place), unit, error: isAtMost(figure) ? `at most ${ends[1]}` : `${of}(${reach(...ends)})`, exact };
}

/** The place of the last digit of a value and of its band's ends: what the band allows, but no more than they have. */
function placeIn({ low, high }, value) {
  const off = (high - low) / 2, finest = -digits(value, low, high);
  return off > 0 ? Math.max(placeOf(off), finest) : finest;
}

/** The ends of a band, rounded outward. */
function endsOf({ low, high }, place) {
  const unit = 10 ** place;
  return [[low, Math.floor], [high, Math.ceil]].map(([end, round]) => {
    const steps = end / unit, nearest = Math.round(steps);
    return decimal((Math.abs(steps - nearest) > 1e-9 ? round(steps) : nearest) * unit, place);
  });
}

/** From where to where a band goes. */
const reach = (low, high) => /^[−-]/.test(low) ? `${low} to ${high}` : `${low}–${high}`;

/** Whether values were cut and nothing is known about how many. */
const unknown = ({ basis, outside_95: outside }) => basis === "clipped" && typeof outside !== "number";

/** How many users were outside what values were cut to, and of about how many. */
function outsideText({ clip, users, outside_95: outside }) {
  const who = users > outside ? `${plain(outside)} of about ${plain(users)} users are` : outside === 1 ? "1 user is" : `${plain(outside)} users are`;
  return `at most ${who} outside${clip ? ` ${reach(plain(clip[0]), plain(clip[1]))}` : ""}`;
}

/** Between which percentiles a quantile lies. */
const percentiles = ({ p_low: low, p_high: high }) => `${ordinal(place(low))}–${ordinal(place(high))} percentile`;

function ordinal(n) {
  const ends = { 1: "st", 2: "nd", 3: "rd" };
  return `${n}${Number.isInteger(n) && (n % 100 < 11 || n % 100 > 13) && ends[n % 10] || "th"}`;
}

export const sinceText = (figure) => `since ${clock(sinceOf(figure))}`;

const place = (p) => +(100 * p).toFixed(p < 0.1 || p > 0.9 ? 1 : 0);

/** What a band follows from. */
const bases = { interval: "the interval that was paid for", histogram: "from the histogram", noise: "noise", clipped: "noise", scatter: "from how far the last windows lie apart",
  shape: "earlier windows tell too little, so heavy-tailed values are assumed" };

/** What is known of a figure's error, as a sentence. */
export function errorText(figure) {
  if (figure.status !== "ok") return reasonText(figure);
  const { value, unit, level, basis, p_low: low, p_high: high, excess_95: excess } = figure;
  if (isWatch(figure.statistic)) return figureText(figure).error || (excess === null ? "" : `${plain(Math.ceil(excess))} users beyond its limit make it fire in 95 of 100 cases`);
  if (isHeld(figure)) return figure.changed ? "drawn anew in this window" : `held ${sinceText(figure)}, until it changes`;
  const around = band(figure);
  const ranks = low !== null && high !== null ? `somewhere between the ${ordinal(place(low))} and the ${ordinal(place(high))} percentile` : "";
  if (!around) return ranks || ["no band: nothing public says how far off it may be", typeof figure.outside_95 === "number" ? outsideText(figure) : ""].filter(Boolean).join("; ");
  const why = `(${bases[basis] ?? basis}, ${+(100 * level).toFixed(1)} %)`;
  const ends = endsOf(around, placeIn(around, value));
  const said = isAtMost(figure) ? `at most ${ends[1]} ${unit} ${why}` : isEven(figure) ? `± ${roundedUp(around.high - value)} ${unit} ${why}` : `between ${ends[0]} and ${ends[1]} ${unit} ${why}`;
  return [said, basis === "clipped" ? cutText(figure) : "", ranks].filter(Boolean).join("; ");
}

/** What is known of the users whose values were cut. */
function cutText(figure) {
  const { clip, unit, cut_95: cut } = figure;
  if (unknown(figure)) return clip ? `values were cut to ${reach(plain(clip[0]), plain(clip[1]))} ${unit}, and nothing public bounds what that moved` : "";
  return `${outsideText(figure)}${typeof cut === "number" ? `, which moves the value by ${roundedUp(cut)} ${unit} at most` : ""}`;
}

/** What stands in the place of a value that is only noise, or that is withheld for that reason. */
export const tooFew = "too few users to say";

/** The same of a figure. Of a number of users that is how many there are at most. */
export const noiseText = (figure) => isAtMost(figure) ? `${figureText(figure).error} ${figure.unit}` : tooFew;

/** Why a figure is withheld. A watch or a figure on change may be armed as often as at_most allows: its record says the same. */
export function reasonText(figure) {
  const { reason } = figure, exhausted = isWatch(figure.statistic) || isHeld(figure) ? "at_most or the budget allows no more" : "the budget is exhausted";
  return { budget_exhausted: exhausted, too_few_users: "too few users", not_armed: "not armed again yet" }[reason] ?? reason ?? "no reason is given";
}

export const incompleteText = "incomplete: part of the input was lost";

/** What the marks of figures mean that differ from those before: a legend, hidden until there are some. */
export const legend = () => h("p", { class: "legend", hidden: true }, h("span", { class: "signal", "aria-hidden": "true" }, "◆"),
  " From here on figures are higher or lower than the median of the hour before, by more than noise and the usual variation explain. Where nothing changes, a series has one on at most 1 day of 100, or 2 if it is of medians or quantiles. Values that repeat may have one at first leaps.");

const date = (options) => new Intl.DateTimeFormat("en-GB", options);
const seconds = date({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minutes = date({ hour: "2-digit", minute: "2-digit" });
const daysOfYear = date({ day: "numeric", month: "short" }), daysOfAll = date({ day: "numeric", month: "short", year: "numeric" });
/** A day, with the year if it is not this one. */
const days = { format: (when) => (when.getFullYear() === new Date(1000 * now()).getFullYear() ? daysOfYear : daysOfAll).format(when) };
const zones = date({ timeZoneName: "short" });

/** Whether all times have seconds: some stream has windows of less than whole minutes. */
export const times = { exact: false };

/** A time of day, with the day if it is not today's. `at` is in seconds since 1970. */
export function clock(at, exact = times.exact) {
  const when = new Date(1000 * at);
  const day = days.format(when);
  const time = (exact ? seconds : minutes).format(when);
  return day === days.format(new Date(1000 * now())) ? time : `${day} ${time}`;
}

/** Marks of a time axis whose steps are so many seconds wide. */
export function mark(at, step) {
  const when = new Date(1000 * at);
  if (step >= 86400) return days.format(when);
  const midnight = when.getHours() + when.getMinutes() + when.getSeconds() === 0;
  return midnight ? days.format(when) : (step < 60 ? seconds : minutes).format(when);
}

/** From when to when a window goes; the day stands there once. */
export function windowText({ start, end }) {
  const [first, last] = [clock(start), clock(end)];
  const day = days.format(new Date(1000 * end));
  return `${first}–${first.startsWith(day) ? last.replace(day, "").trim() : last}`;
}

/** A time as programs write it. */
export const utc = (at) => new Date(1000 * at).toISOString().replace(".000", "");

/** The reader's time zone, such as "UTC+1". */
export function zone() {
  const name = zones.formatToParts(new Date()).find((part) => part.type === "timeZoneName")?.value ?? "";
  return name.replace("GMT", "UTC");
}

/** How long something takes or is ago: "12 s", "5 min", "3 h", "2 d", "11 y". */
export function span(duration) {
  const s = Math.max(0, Math.round(duration));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  if (s < 2 * year) return `${Math.round(s / 86400)} d`;
  return `${Math.round(s / year)} y`;
}

const year = 365.25 * 86400;

/** How long something lasts that has a round length: "10 s", "1 min", "15 min", "1 h", "1 d". */
export function length(duration) {
  for (const [unit, name] of [[86400, "d"], [3600, "h"], [60, "min"]]) if (duration % unit === 0) return `${duration / unit} ${name}`;
  return span(duration);
}

/** A number as it is, with separators. */
export const plain = (value) => value.toLocaleString("en", { maximumFractionDigits: 12 }).replace("-", "−");

/** "1 stream", "2 streams". */
export const several = (n, noun) => `${plain(n)} ${noun}${n === 1 ? "" : "s"}`;

/** Whom the figures describe if not everybody counts in every window, or "". */
export function capText({ max_windows: cap, releases }) {
  if (!cap) return "";
  const others = [["watches and figures on change", (r) => r.on_change || isWatch(r.statistic)], ["running totals", (r) => r.total]]
    .filter(([, is]) => releases.some(is)).map(([name]) => name).join(", and ");
  return `about the users who still count: one person counts in at most ${several(cap.count, "window")} of any ${cap.per}${others && `; ${others} are about everybody`}`;
}

/** The name of a group; a stream without groups has one without a name. */
export const groupText = (group) => group === "" ? "all" : group;
