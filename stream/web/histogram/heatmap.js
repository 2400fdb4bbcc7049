// The distribution of a histogram over time: windows from left to right, buckets from below. A click on a window opens its shares.

import { ask } from "./api.js";
import { h, say } from "./dom.js";
import { clock, utc, windowText } from "./format.js";
import { color } from "./paint.js";
import { everyOf } from "./streams.js";

/** How many windows are asked for at most: more columns would be narrower than a line. */
const most = 400;
const tall = 320;
export const below = 22;

/** How much room is beside a map of this width: as beside the plots above it, so that their times are aligned. */
export const sides = (width) => width < 500 ? { left: 52, right: 52 } : { left: 58, right: 76 };

export class Heatmap {
  #title = h("h2", {});
  #map = h("canvas", { role: "img", tabindex: 0 });
  #note = h("p", { class: "about" });
  #shares = null; // those of the window that was clicked: loaded with the first click
  element = h("section", { class: "heat panel", hidden: true }, this.#title, this.#map, this.#note);
  #asked = "";
  #of = null;
  #columns = [];
  #shown = [0, 1]; // from when to when
  #lines = [];

  constructor() {
    this.element.style.margin = "12px 0";
    new ResizeObserver(() => this.redraw()).observe(this.element);
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
    this.#of = { stream: stream.stream, unit: stream.unit, group, release: of.release, whose: of.total ? `${of.total.max_total > 1 ? "visits" : "users"} so far` : "window's users" };
    this.#lines = lines;
    this.#shown = [start, end];
    const query = { stream: stream.stream, group, release: of.release, from: utc(Math.floor(start)), to: utc(Math.ceil(end)), last: most, limit: most,
      fields: "window_start,window_end,status,error_95,incomplete,buckets" };
    const asked = JSON.stringify([query.stream, group, of.release, query.from, newest]);
    if (asked !== this.#asked) {
      const other = !this.#asked.startsWith(JSON.stringify([query.stream, group, of.release]).slice(0, -1));
      this.#asked = asked;
      if (other) this.#shares?.close();
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
    say(this.#title, `Distribution of ${this.#of.release}${this.#of.unit && ` in ${this.#of.unit}`}`);
    this.#map.setAttribute("aria-label", `The distribution of ${this.#of.release} over ${this.#columns.length} windows. The API has it as numbers: api/v1/distribution.`);
    this.#paint();
    this.#shares?.redraw();
    this.#tell(null);
  }

  get #ends() {
    return this.#columns.findLast((column) => column.buckets)?.buckets.le ?? [];
  }

  #paint() {
    const [ctx, width, height] = sheet(this.#map, tall);
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
        ctx.globalAlpha = alpha(column.shares[j] / strongest);
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
    labels(ctx, ends, y, plot.height, left, width - right);
    ctx.textBaseline = "alphabetic";
    ctx.textAlign = "left";
    const times = width >= 500; // else the colours take their room, and the plots above have the same times
    if (times) ctx.fillText(clock(start), left, height - 4);
    ctx.textAlign = "right";
    if (times) ctx.fillText(clock(end), width - right, height - 4);
    this.#key(ctx, left + plot.width / 2, height - 15, strongest, hatched);
  }

  /** What the colours mean: from no user to the largest share, and what is only noise. */
  #key(ctx, middle, top, strongest, hatched) {
    const size = 12, left = middle - 4.5 * size;
    ctx.fillText("0 %", left - 5, top + 11);
    ctx.textAlign = "left";
    ctx.fillText(`${Math.round(100 * strongest)} %`, left + 5 * size + 5, top + 11);
    ctx.fillText("noise", left + 10 * size, top + 11);
    ctx.fillStyle = color("line-0");
    for (let i = 0; i < 5; i++) {
      ctx.globalAlpha = alpha((i + 0.5) / 5);
      ctx.fillRect(left + i * size, top, size, size);
    }
    ctx.fillRect(left + 9 * size - 5, top, size, size);
    ctx.globalAlpha = 1;
    ctx.fillStyle = hatched;
    ctx.fillRect(left + 9 * size - 5, top, size, size);
  }

  /** What is below the pointer. */
  #at(event) {
    const box = this.#map.getBoundingClientRect(), n = this.#ends.length;
    const { left, right } = sides(box.width), [start, end] = this.#shown, at = start + (event.clientX - box.left - left) / (box.width - left - right) * (end - start);
    const j = Math.floor((1 - (event.clientY - box.top) / (tall - below)) * n);
    const column = this.#columns.find((c) => at >= c.from && at < c.end);
    return column ? { column, bucket: j >= 0 && j < n ? j : undefined } : null;
  }

  #tell(at) {
    if (!at) {
      const names = this.#lines.map((line) => line.name).join(", ");
      say(this.#note, `Colour: the share of the ${this.#of.whose}. Hatched: less than the bucket's noise.${names ? ` Lines: ${names}.` : ""} Click on a window for its shares.`);
      return;
    }
    const { column, bucket } = at;
    if (!column.shares) return say(this.#note, `${windowText(column)}: withheld`);
    const { unit } = this.#of;
    const which = bucket === undefined ? "" : `, ${nameOf(column.buckets.le, bucket)} ${unit}: ${column.buckets.count[bucket]} users, of which ± ${Math.ceil(column.noise)} are noise`;
    const quantiles = this.#lines.map((line) => [line.name, line.figures.find((f) => f.end === column.end)]).filter(([, figure]) => figure?.value != null && figure.quality !== "noise")
      .map(([name, { value, interval }]) => `${name} ${value}${interval ? ` (${interval.low} to ${interval.high})` : ""} ${unit}`);
    say(this.#note, [`${windowText(column)}${which}`, ...quantiles].join(" · "));
  }

  async #open(at) {
    if (!at?.column?.shares) return;
    const { Shares } = await import("./shares.js");
    if (!this.#shares) this.element.append((this.#shares = new Shares()).element);
    await this.#shares.show(this.#of, at.column);
  }
}

/** A record as a column: the shares of its buckets, and the noise of one of them. */
function column(record, every) {
  const { buckets } = record;
  const of = { start: Date.parse(record.window_start) / 1000, end: Date.parse(record.window_end) / 1000, buckets };
  of.from = Math.max(of.start, of.end - every); // of windows that overlap the newest part is drawn
  if (record.status !== "ok" || !buckets) return of;
  const users = buckets.count.reduce((sum, n) => sum + n, 0);
  // Without groups the number of all users is a sum of K buckets. With G groups of m buckets a group's sum has the variance of one bucket.
  of.noise = (record.error_95 - 0.5) / Math.sqrt(buckets.groups || buckets.count.length);
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
export function sheet(canvas, height) {
  Object.assign(canvas.style, { display: "block", cursor: "pointer", width: "100%" });
  const width = canvas.clientWidth, scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const ctx = canvas.getContext("2d");
  ctx.scale(scale, scale);
  return [ctx, width, height];
}

/** How strong the colour of a share is, as a part of the largest one. */
const alpha = (part) => 0.08 + 0.92 * Math.sqrt(part);

/** The values of a bucket. */
const nameOf = (ends, j) => j === 0 ? `≤ ${ends[0]}` : ends[j] === null ? `> ${ends[j - 1]}` : `${ends[j - 1]}–${ends[j]}`;

/** Names stand in the middle of their buckets, and lines between these. */
function labels(ctx, ends, y, height, left, right) {
  ctx.font = "11px system-ui, sans-serif";
  ctx.fillStyle = color("quiet");
  ctx.strokeStyle = color("grid");
  ctx.lineWidth = 1;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const step = Math.max(1, Math.ceil(ends.length * 15 / height));
  for (let j = 0; j < ends.length; j++) {
    ctx.globalAlpha = 0.5;
    ctx.strokeRect(left, y(j + 1), right - left, 0);
    ctx.globalAlpha = 1;
    if (j % step) continue;
    const name = nameOf(ends, j);
    ctx.fillText(ends[j] === null || ctx.measureText(name).width < left - 6 ? name : `≤ ${ends[j]}`, left - 6, y(j + 0.5), left - 6);
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
