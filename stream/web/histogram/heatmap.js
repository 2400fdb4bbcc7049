// The distribution of a histogram over time: windows from left to right, buckets from below. A click on a window opens the
// shares of the users up to each end, with their bands, beside those of the same time a day before.

import { ask } from "./api.js";
import { h, say } from "./dom.js";
import { clock, utc, windowText } from "./format.js";
import { color } from "./paint.js";
import { everyOf } from "./streams.js";

/** How many windows are asked for at most: more columns would be narrower than a line. */
const most = 400;
const heights = { map: 320, shares: 220 };
const below = 22, day = 86400;

/** How much room is beside a map of this width: as beside the plots above it, so that their times are aligned. */
const sides = (width) => width < 500 ? { left: 42, right: 52 } : { left: 58, right: 76 };

export class Heatmap {
  #title = h("h2", {});
  #map = h("canvas", { role: "img", tabindex: 0 });
  #note = h("p", { class: "about" });
  #shares = h("canvas", { role: "img", hidden: true });
  #sharesNote = h("p", { class: "about", hidden: true });
  element = h("section", { class: "heat panel", hidden: true }, this.#title, this.#map, this.#note, this.#shares, this.#sharesNote);
  #asked = "";
  #of = null;
  #columns = [];
  #shown = [0, 1]; // from when to when
  #lines = [];
  #picked = null; // what is known of the window that was clicked, and of the one a day before

  constructor() {
    this.#map.addEventListener("click", (event) => this.#open(this.#at(event)));
    this.#map.addEventListener("mousemove", (event) => this.#tell(this.#at(event)));
    this.#map.addEventListener("mouseleave", () => this.#tell(null));
    this.#map.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.stopPropagation();
      this.#open({ column: this.#columns.at(-1) });
    });
  }

  /**
   * Shows a histogram of a stream and group between two times.
   * @param {Object|undefined} of the histogram as api/v1/streams describes it; undefined hides all
   * @param {import("./lines.js").Line[]} lines the quantiles that are computed from it
   * @param {number} newest the end of the newest window
   */
  async show(stream, group, of, lines, start, end, newest) {
    this.element.hidden = !of;
    if (!of) return;
    this.#of = { stream: stream.stream, unit: stream.unit, group, release: of.release };
    this.#lines = lines;
    this.#shown = [start, end];
    const query = { stream: stream.stream, group, release: of.release, from: utc(Math.floor(start)), to: utc(Math.ceil(end)), last: most, limit: most,
      fields: "window_start,window_end,status,epsilon,mechanism,incomplete,buckets" };
    const asked = JSON.stringify([query.stream, group, of.release, query.from, newest]);
    if (asked !== this.#asked) {
      const other = !this.#asked.startsWith(JSON.stringify([query.stream, group, of.release]).slice(0, -1));
      this.#asked = asked;
      if (other) this.#close();
      try {
        const found = (await ask("releases", query)).releases;
        if (asked !== this.#asked) return;
        this.#columns = found.map((record) => column(record, everyOf(stream))).sort((a, b) => a.end - b.end);
      } catch (error) {
        say(this.#note, error.message);
        return;
      }
    }
    this.redraw();
  }

  redraw() {
    if (this.element.hidden) return;
    say(this.#title, `Distribution of ${this.#of.release}`);
    this.#map.setAttribute("aria-label", `The distribution of ${this.#of.release} over ${this.#columns.length} windows. The API has it as numbers: api/v1/distribution.`);
    this.#paint();
    if (this.#picked) this.#paintShares();
    this.#tell(null);
  }

  get #ends() {
    return this.#columns.findLast((column) => column.buckets)?.buckets.le ?? [];
  }

  #paint() {
    const [ctx, width, height] = sheet(this.#map, heights.map);
    const ends = this.#ends, n = ends.length, columns = this.#columns;
    if (n === 0) return;
    const { left, right } = sides(width), [start, end] = this.#shown;
    const plot = { width: width - left - right, height: height - below };
    const x = (at) => Math.round(left + plot.width * (Math.min(end, Math.max(start, at)) - start) / (end - start)), y = (place) => plot.height * (1 - place / n);
    const strongest = Math.max(...columns.flatMap((column) => column.shares ?? [0]), 1e-9);
    const hatched = hatching(ctx);
    columns.forEach((column) => {
      if (!column.shares || column.buckets.le.length !== n) return; // withheld, or of other buckets: a gap
      for (let j = 0; j < n; j++) {
        if (column.shares[j] <= 0) continue;
        const box = [x(column.from), y(j + 1), Math.max(1, x(column.end) - x(column.from)), y(j) - y(j + 1) + 0.5];
        ctx.globalAlpha = 0.08 + 0.92 * Math.sqrt(column.shares[j] / strongest);
        ctx.fillStyle = color("line-0");
        ctx.fillRect(...box);
        ctx.globalAlpha = 1;
        if (column.buckets.count[j] >= column.noise) continue;
        ctx.fillStyle = hatched;
        ctx.fillRect(...box);
      }
    });
    this.#lines.forEach((line, k) => {
      ctx.strokeStyle = color(`line-${(k + 1) % 6}`);
      ctx.lineWidth = 2;
      ctx.beginPath();
      let down = false;
      columns.forEach((column) => {
        const figure = line.figures.find((f) => f.end === column.end);
        if (!figure || figure.value === null || figure.quality === "noise") { // noise has no course to follow
          down = false;
          return;
        }
        ctx[down ? "lineTo" : "moveTo"]((x(column.from) + x(column.end)) / 2, y(place(ends, figure.value)));
        down = true;
      });
      ctx.stroke();
    });
    labels(ctx, ends, this.#of.unit, y, plot.height, left, width - right);
    ctx.textAlign = "left";
    ctx.fillText(clock(start), left, height - 4);
    ctx.textAlign = "right";
    ctx.fillText(clock(end), width - right, height - 4);
  }

  /** What is below the pointer. */
  #at(event) {
    const box = this.#map.getBoundingClientRect(), n = this.#ends.length;
    const { left, right } = sides(box.width), [start, end] = this.#shown, at = start + (event.clientX - box.left - left) / (box.width - left - right) * (end - start);
    const j = Math.floor((1 - (event.clientY - box.top) / (heights.map - below)) * n);
    const column = this.#columns.find((c) => at >= c.from && at < c.end);
    return column ? { column, bucket: j >= 0 && j < n ? j : undefined } : null;
  }

  #tell(at) {
    if (!at) {
      const names = this.#lines.map((line) => line.name).join(", ");
      say(this.#note, `Colour: the share of the window's users in a bucket. Hatched: less than the bucket's own noise.${names ? ` Lines: ${names}.` : ""} Click on a window for its shares.`);
      return;
    }
    const { column, bucket } = at;
    if (!column.shares) return say(this.#note, `${windowText(column)}: withheld`);
    const ends = column.buckets.le, unit = this.#of.unit;
    const which = bucket === undefined ? "" : `, ${bucket > 0 ? `above ${ends[bucket - 1]} ` : ""}${ends[bucket] === null ? "" : `up to ${ends[bucket]} `}${unit}: ${column.buckets.count[bucket]} users, of which ± ${Math.ceil(column.noise)} are noise`;
    const quantiles = this.#lines.map((line) => [line.name, line.figures.find((f) => f.end === column.end)]).filter(([, figure]) => figure?.value != null && figure.quality !== "noise")
      .map(([name, { value, interval }]) => `${name} ${value}${interval ? ` (${interval.low} to ${interval.high})` : ""} ${unit}`);
    say(this.#note, [`${windowText(column)}${which}`, ...quantiles].join(" · "));
  }

  async #open(at) {
    if (!at?.column?.shares) return;
    const { stream, group, release } = this.#of;
    const get = (end) => ask("distribution", { stream, group, release, window_end: utc(end) }).catch(() => null);
    const [now, before] = await Promise.all([get(at.column.end), get(at.column.end - day)]);
    this.#picked = now && { column: at.column, now, before };
    this.#shares.hidden = this.#sharesNote.hidden = !now;
    if (now) this.#paintShares();
  }

  #close() {
    this.#picked = null;
    this.#shares.hidden = this.#sharesNote.hidden = true;
  }

  #paintShares() {
    const { column, now, before } = this.#picked;
    const [ctx, width, height] = sheet(this.#shares, heights.shares);
    const n = now.le.length, { left, right } = sides(width), plot = { width: width - left - right, height: height - below };
    const x = (j) => left + plot.width * j / (n - 1), y = (share) => 6 + (plot.height - 6) * (1 - share);
    ctx.fillStyle = color("line-0");
    ctx.globalAlpha = 0.2;
    ctx.beginPath();
    now.low.forEach((low, j) => ctx[j ? "lineTo" : "moveTo"](x(j), y(low)));
    for (let j = n - 1; j >= 0; j--) ctx.lineTo(x(j), y(now.high[j]));
    ctx.fill();
    ctx.globalAlpha = 1;
    const line = (shares, stroke, dash) => {
      ctx.strokeStyle = color(stroke);
      ctx.lineWidth = 2;
      ctx.setLineDash(dash);
      ctx.beginPath();
      shares.forEach((share, j) => ctx[j ? "lineTo" : "moveTo"](x(j), y(share)));
      ctx.stroke();
      ctx.setLineDash([]);
    };
    const alike = before && JSON.stringify(before.le) === JSON.stringify(now.le);
    if (alike) line(before.share, "line-4", [5, 4]);
    line(now.share, "line-0", []);
    ctx.fillStyle = color("quiet");
    ctx.font = "12px system-ui, sans-serif";
    ctx.textAlign = "right";
    for (const share of [0, 0.5, 1]) ctx.fillText(`${100 * share} %`, left - 8, y(share) + 4);
    ctx.textAlign = "center";
    const step = Math.ceil(n / 8);
    for (let j = 0; j < n - 1; j += step) ctx.fillText(String(now.le[j]), Math.max(left + 4, x(j)), height - 4);
    const text = `Users up to a value, ${windowText(column)}: the share and its band of 95 %, for each value alone.${alike ? " Dashed: a day before." : " There is no window of a day before."}`;
    say(this.#sharesNote, text);
    this.#shares.setAttribute("aria-label", text);
  }
}

/** A record as a column: the shares of its buckets, and the noise of one of them. */
function column(record, every) {
  const { buckets, epsilon, mechanism } = record;
  const of = { start: Date.parse(record.window_start) / 1000, end: Date.parse(record.window_end) / 1000, buckets };
  of.from = Math.max(of.start, of.end - every); // of windows that overlap the newest part is drawn
  if (record.status !== "ok" || !buckets) return of;
  const users = buckets.count.reduce((sum, n) => sum + n, 0);
  const levels = buckets.groups > 0 ? 2 : 1, r = Math.exp(-epsilon / levels);
  const drawn = mechanism === "gaussian_histogram" ? levels / epsilon ** 2 : 2 * r / (1 - r) ** 2;
  const members = buckets.groups > 0 ? buckets.raw.length / buckets.groups : Infinity;
  of.noise = (mechanism === "gaussian_histogram" ? 1.96 : 2.12) * Math.sqrt(members === Infinity ? drawn : drawn * members / (members + 1));
  of.shares = buckets.count.map((n) => users > 0 ? n / users : 0);
  return of;
}

/** The place of a value among the buckets: 2.5 is the middle of the third. */
function place(ends, value) {
  const j = ends.findIndex((end) => end === null || value <= end);
  const low = j > 0 ? ends[j - 1] : 0, high = ends[j];
  return j + (high === null || high <= low ? 1 : (value - low) / (high - low));
}

/** A canvas as wide as its place, ready to draw on. */
function sheet(canvas, height) {
  canvas.style.width = "100%";
  const width = canvas.clientWidth, scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  return [ctx, width, height];
}

function labels(ctx, ends, unit, y, height, left, right) {
  ctx.font = "12px system-ui, sans-serif";
  ctx.fillStyle = color("quiet");
  ctx.strokeStyle = color("grid");
  ctx.lineWidth = 1;
  ctx.textAlign = "right";
  const step = Math.max(1, Math.ceil(ends.length * 18 / height));
  for (let j = 0; j < ends.length - 1; j += step) {
    ctx.beginPath();
    ctx.moveTo(left, y(j + 1));
    ctx.lineTo(right, y(j + 1));
    ctx.globalAlpha = 0.5;
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.fillText(`${ends[j]}${unit && j === 0 ? ` ${unit}` : ""}`, left - 8, y(j + 1) + 4, left - 8);
  }
}

/** Diagonal lines in the colour of a card, which wipe out what lies below. */
function hatching(ctx) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const pen = tile.getContext("2d");
  pen.strokeStyle = color("card");
  pen.lineWidth = 2.2;
  pen.beginPath();
  for (const shift of [-6, 0, 6]) {
    pen.moveTo(shift, 6);
    pen.lineTo(shift + 6, 0);
  }
  pen.stroke();
  return ctx.createPattern(tile, "repeat");
}
