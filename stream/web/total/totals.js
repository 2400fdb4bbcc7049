// What a running total, or the number of users active now, is compared with: itself, earlier at the same local time.

import { releases } from "./api.js";
import { band } from "./figures.js";
import { figureText, utc } from "./format.js";
import { from, visible } from "./lines.js";
import { color, pixels } from "./paint.js";

/** How far the band of a figure goes from its value. Below it ends at 0, where a number of users does. */
const reach = (figure) => band(figure) ? Math.max(figure.high - figure.value, figure.value - figure.low) : Infinity;

const hour = 3600, day = 24 * hour;

/** What totals are compared with, by their unit: what it is called, and how local time goes back, in seconds or months. Its line is that of the first. */
const earlier = {
  hour: [["an hour before", { seconds: hour }], ["the day before", { seconds: day }]],
  midnight: [["the day before", { seconds: day }], ["the week before", { seconds: 7 * day }]],
  monday: [["the week before", { seconds: 7 * day }]],
  month: [["the month before", { months: 1 }]], // to the same day of the month, if it has one
};

/** What a figure is compared with. Users active now have no period and no zone: the reader's is taken. */
const comparisons = ({ total, active } = {}) => total ? earlier[total.since] : active ? [["a week ago", { seconds: 7 * day }]] : [];

const zones = new Map(), offsets = new Map();

/** How far a zone is ahead of UTC just before a moment, in seconds. Clocks change at a quarter of an hour. */
function ahead(zone, at) {
  const quarter = Math.floor((at - 1) / 900), key = `${zone}/${quarter}`;
  if (!offsets.has(key)) {
    if (!zones.has(zone)) zones.set(zone, new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" }));
    const text = zones.get(zone).formatToParts(new Date(900_000 * quarter)).find((part) => part.type === "timeZoneName").value;
    const [, sign, hours, minutes] = /GMT([+-])(\d+):(\d+)/.exec(text) ?? [];
    offsets.set(key, sign ? Number(`${sign}1`) * (hour * hours + 60 * minutes) : 0);
  }
  return offsets.get(key);
}

/**
 * The moment at which a stretch of windows ended that was then as late in local time: on a day of 23 or 25 hours that is no multiple of a
 * day ago. undefined: there is none, as on the 31st of a month.
 */
export function back(at, { seconds = 0, months = 0 }, zone) {
  let local = at + ahead(zone, at) - seconds;
  if (months > 0) {
    const date = new Date(1000 * local), of = date.getUTCDate();
    date.setUTCMonth(date.getUTCMonth() - months);
    if (date.getUTCDate() !== of) return undefined;
    local = date / 1000;
  }
  const about = local - ahead(zone, at);
  return local - ahead(zone, local - ahead(zone, about));
}

/** The figure of a series that ended at a time. */
function endedAt(figures, end) {
  let low = 0, high = figures.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (figures[middle].end < end) low = middle + 1;
    else high = middle;
  }
  return figures[low]?.end === end ? figures[low] : undefined;
}

/**
 * What a figure was then. There is none of a total that did not count since the beginning of its period, as this one does, and none of
 * active users of whom some may be missing.
 * @param {{total?: {since: string, zone: string}}} of
 * @param {import("./figures.js").Figure[]} figures of the series, oldest first
 */
function past({ total }, figures, figure, step) {
  const then = figure.status === "ok" ? endedAt(figures, back(figure.end, step, total?.zone)) : undefined;
  if (!total) return then?.status === "ok" && !then.incomplete ? then : undefined;
  const since = back(Date.parse(figure.since) / 1000, step, total.zone);
  return then?.status === "ok" && Date.parse(then.since) / 1000 === since && then.since !== figure.since ? then : undefined;
}

/** What running totals are compared with, and how that is said and loaded. */
export class Totals {
  #loaded = new Map(); // from when to when, by series and comparison

  /** The line of a total in the period before, below the times of this one: [[from, end, value, since], …]. Noise has none. */
  line(line, start, end) {
    const [[name, step]] = earlier[line.total.since];
    const found = [];
    for (const figure of visible(line, start, end)) {
      const then = past(line, line.figures, figure, step);
      if (then && then.quality !== "noise") found.push([from(line, figure), figure.end, then.value, then.since]);
    }
    return { name, steps: found, draw: (ctx, place) => faint(ctx, found, place) };
  }

  /**
   * Says what the figure was earlier, and whether it differs by more than noise explains.
   *
   * If the truth were the same, the difference would be that of two noises. By their laws a total is off by x times the reach of its
   * published band with the probability e^(−3x) at most, where it is a single Laplace number, and less where it is a sum of several. The
   * difference of two is beyond 2.5 times the root of the sum of the squared errors in fewer than 1 of 1,000 cases. Nothing is known of the
   * difference of two figures from a histogram.
   * @param {Object} stream
   * @param {import("./lines.js").Line} line
   * @param {import("./figures.js").Figure} figure
   */
  text(stream, line, figure) {
    const of = stream.releases.find((r) => r.release === figure.release) ?? {}, by = of.total ? " by then" : "";
    const found = comparisons(of).map(([name, step]) => ({ name, then: past(of, line.figures, figure, step) })).filter(({ then }) => then);
    const text = found.map(({ name, then }) => `${name}${by} ${figureText(then).value} ${figureText(then).error}`).join(", ");
    const beyond = of.from ? [] : found.filter(({ then }) => Math.abs(figure.value - then.value) > 2.5 * Math.hypot(reach(figure), reach(then))).map(({ name }) => name);
    if (beyond.length === 0) return text;
    const which = found.length === 1 ? "such a difference" : beyond.length > 1 ? "either difference" : `such a difference from ${beyond[0]}`;
    return `${text} (noise alone makes ${which} in fewer than 1 of 1,000 cases)`;
  }

  /**
   * Loads the earlier figures of what is shown from start to end, and of an hour to come, so that this is rare.
   * @param {(records: Object[]) => void} take
   * @returns {Promise<boolean>} whether there was something to load
   */
  async load({ stream, releases: all }, group, start, end, take, until) {
    const asked = all.flatMap((r) => comparisons(r).map(([name, step]) => ({ key: [stream, group, r.release, name].join("/"), release: r.release, zone: r.total?.zone, step })));
    const missing = asked.filter(({ key }) => {
      const [first, last] = this.#loaded.get(key) ?? [Infinity, -Infinity];
      return start < first || end > last;
    });
    await Promise.all(missing.map(async ({ key, release, zone, step }) => {
      const first = back(start, step, zone) ?? back(start - 3 * day, step, zone);
      const last = back(end + hour, step, zone) ?? end;
      await releases({ stream, group, release, from: utc(first - hour), to: utc(Math.min(last + hour, end)) }, take, until);
      if (!until?.aborted) this.#loaded.set(key, [start, end + hour]);
    }));
    return missing.length > 0;
  }
}

/** Draws the line of the period before, faint behind that of a running total. */
function faint(ctx, steps, { x, y }) {
  ctx.strokeStyle = color("quiet");
  ctx.globalAlpha = 0.7;
  ctx.lineWidth = 1.25 * pixels();
  ctx.beginPath();
  steps.forEach(([start, end, value, since], i) => {
    const [, until, , period] = steps[i - 1] ?? [];
    if (until === start && period === since) ctx.lineTo(x(start), y(value));
    else ctx.moveTo(x(start), y(value));
    ctx.lineTo(x(end), y(value));
  });
  ctx.stroke();
  ctx.globalAlpha = 1;
}
