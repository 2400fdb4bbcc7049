// A plot of series on one axis: uPlot draws lines, axes and cursor; paint.js what is below and above.

import { h, say } from "./dom.js";
import { counts } from "./figures.js";
import { mark, rounded } from "./format.js";
import { beginnings, columns } from "./lines.js";
import { above, below, color, places } from "./paint.js";
import { strips } from "./strips.js";

/**
 * The pieces of a line, in pixels. A value lasts until the next time, and where there is none, there is no line. A piece joins the one
 * before, solid or dashed, unless the line begins anew there. Windows narrower than the line fall together: from the least value to the greatest.
 * @returns {{left: number, right: number, top: number, bottom: number, before: Object|null}[]}
 */
function pieces(u, series, other, width, anew) {
  const [xs, ys, others] = [u.data[0], u.data[series], u.data[other] ?? []];
  const { x, y } = places(u);
  const found = [];
  let before = null;
  for (let i = 0; i + 1 < xs.length; i++) {
    if (anew.has(xs[i])) before = null;
    if (ys[i] === null) {
      const value = others[i] ?? null;
      before = value === null ? null : { top: y(value), bottom: y(value), other: true };
      continue;
    }
    const left = x(xs[i]);
    let low = ys[i], high = low;
    while (i + 2 < xs.length && ys[i + 1] !== null && !anew.has(xs[i + 1]) && x(xs[i + 2]) - left <= width) {
      i++;
      low = Math.min(low, ys[i]);
      high = Math.max(high, ys[i]);
    }
    found.push(before = { left, right: x(xs[i + 1]), top: y(high), bottom: y(low), before });
  }
  return found;
}

const nothing = { stroke: null, fill: null, clip: null, band: null, gaps: null, flags: 0 };

/** A solid line, as rectangles of whole pixels: a browser fills them several times faster than it strokes as many corners. */
function solid(u, series, anew, other = series + 1) {
  const fill = new Path2D(), width = Math.max(1, Math.round(u.series[series].width * window.uPlot.pxRatio));
  const round = (at) => Math.round(at - width / 2);
  for (const { left, right, top, bottom, before } of pieces(u, series, other, width, anew)) {
    fill.rect(Math.round(left), round(top), Math.round(right) - Math.round(left), round(bottom) - round(top) + width);
    if (!before) continue;
    const from = round(Math.min(before.bottom, bottom)), to = round(Math.max(before.top, top));
    if (to > from) fill.rect(round(left), from, width, to - from + width);
  }
  return { ...nothing, fill };
}

function dashed(u, series, anew) {
  const stroke = new Path2D(), width = u.series[series].width * window.uPlot.pxRatio;
  for (const { left, right, top, bottom, before } of pieces(u, series, series - 1, width, anew)) {
    if (before?.other) stroke.moveTo(left, before.bottom);
    if (before) stroke.lineTo(left, top);
    else stroke.moveTo(left, top);
    if (bottom > top) stroke.lineTo(left, bottom);
    else stroke.lineTo(right, top);
  }
  return { ...nothing, stroke };
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) target.plot?.fit();
});

/** Only plots that can be seen, or nearly, are drawn: an overview may have hundreds. */
const sights = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) target.plot?.look(isIntersecting);
}, { rootMargin: "400px" });

export class Plot {
  #options;
  #u = null;
  #seen = false;
  #stale = false; // what is drawn is not what is to be shown
  #told = [0, ""];
  #tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  /** @type {import("./lines.js").Line[]} */
  lines = [];
  start = 0;
  end = 1;
  axis = [0, 1];
  /** How much room the ends of the axis take beside a small plot, in pixels. */
  gutter = 0;
  /** What else is painted: picked windows [[from, to], …]; in a demo the truth of a figure, and whether it is of an incident; smoothed lines. */
  extras = {};

  /**
   * @param {HTMLElement} host which says how large the plot is
   * @param {{small?: boolean, rows?: boolean, hover?: (at: number|null) => void, mouse?: () => boolean, pick?: (at: number) => void, range?: (start: number, end: number, shift: boolean) => void}} options
   */
  constructor(host, options) {
    this.host = host;
    this.#options = options;
    this.rows = options.rows ?? false; // a strip each, and no values
    this.small = options.small ?? false;
    host.plot = this;
    sizes.observe(host);
    sights.observe(host);
  }

  /** Shows lines between two times, on an axis. */
  show(lines, start, end, axis, extras = {}) {
    const same = (line, i) => ["name", "color", "statistic"].every((key) => line[key] === this.lines[i][key]);
    const again = this.#u && lines.length === this.lines.length && lines.every(same) && Boolean(extras.smoothed) === Boolean(this.extras.smoothed) && axis[2] === this.axis[2];
    Object.assign(this, { lines, start, end, axis, extras });
    this.#stale = true;
    if (!again) this.#drop();
    this.#draw();
  }

  /** Notes whether the plot can be seen. */
  look(seen) {
    this.#seen = seen;
    this.#draw();
  }

  #draw() {
    if (!this.#seen || !this.#stale) return;
    if (!this.#u) this.#make();
    else {
      this.#stale = false;
      this.#u.setData(columns(this.lines, this.start, this.end, this.extras.smoothed));
    }
  }

  /** Draws again, as after a change of colours. */
  redraw() {
    this.#u?.redraw(true, true);
  }

  /** Takes the size of the host. */
  fit() {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!this.#u) this.#draw();
    else if (width > 0 && height > 0) this.#u.setSize({ width, height });
  }

  /** Says something at a time; nothing hides it. */
  tell(at, text) {
    this.#told = [at, text];
    this.#tip.hidden = !text || !this.#u;
    if (this.#tip.hidden) return;
    say(this.#tip, text);
    const { offsetLeft: left, offsetTop: top, clientWidth: width } = this.#u.over;
    const x = this.#u.valToPos(at, "x");
    this.#tip.style.top = `${top + 6}px`;
    this.#tip.style.left = `${left + Math.max(0, Math.min(width - this.#tip.offsetWidth, x - this.#tip.offsetWidth / 2))}px`;
  }

  /** Puts the cursor at a time, or nowhere. */
  point(at) {
    this.#u?.setCursor(at === null ? { left: -10, top: -10 } : { left: this.#u.valToPos(at, "x"), top: 1 });
  }

  remove() {
    sizes.unobserve(this.host);
    sights.unobserve(this.host);
    this.#drop();
    if (!this.small) this.host.remove();
  }

  #drop() {
    this.#u?.destroy();
    this.#u = null;
  }

  #make() {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (width === 0 || height === 0) return; // not laid out yet: fit comes
    this.#stale = false;
    const { small } = this, { hover, mouse, pick, range } = this.#options;
    const heeds = (u, target, handle) => (event) => mouse?.() === false ? null : handle(event);
    const { smoothed } = this.extras;
    const series = [{}];
    let pressed = null; // the event that began a drag here; the other plot shows it, too
    for (const [i, line] of this.lines.entries()) {
      const common = { width: smoothed || height < 60 ? 1 : 2, points: { show: false }, spanGaps: true };
      const paint = () => color(`line-${line.color}`);
      const anew = () => beginnings(this.lines[i], this.start, this.end); // of the line that is shown now
      series.push({ ...common, fill: paint, paths: (u, at) => solid(u, at, anew()) }, { ...common, stroke: paint, paths: (u, at) => dashed(u, at, anew()), dash: [5, 4] });
      if (smoothed) series.push({ ...common, fill: paint, paths: (u, at) => solid(u, at, anew(), -1), width: 4, alpha: 0.75 });
    }
    this.#u = new window.uPlot({
      width, height, series,
      padding: small ? [2, 0, 2, () => this.gutter] : [this.rows ? 0 : 14, () => this.#narrow ? 52 : 76, 0, 0],
      legend: { show: false },
      cursor: small ? { show: false } : { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 6 }, sync: { key: "detail" }, bind: { mouseleave: heeds } },
      scales: { x: { range: () => [this.start, this.end] }, y: { range: () => this.axis, distr: this.axis[2] ? 3 : 1 } },
      axes: small ? [{ show: false }, { show: false }] : this.#axes(),
      hooks: {
        drawAxes: [(u) => this.rows ? strips(u, this) : below(u, this)],
        draw: [(u) => {
          above(u, this);
          if (this.#told[1]) this.tell(...this.#told); // the place may have moved
        }],
        setCursor: hover ? [(u) => hover(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null)] : [],
        setSelect: range ? [(u) => {
          const { left, width } = u.select;
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          if (pressed && width >= 6) range(u.posToVal(left, "x"), u.posToVal(left + width, "x"), pressed.shiftKey);
          pressed = null;
        }] : [],
      },
    }, columns(this.lines, this.start, this.end, smoothed), this.host);
    if (small) return;
    this.host.append(this.#tip);
    if (range) this.#fingers(range);
    this.#u.over.addEventListener("mousedown", (event) => { pressed = event; });
    this.#u.over.addEventListener("click", (event) => pick(this.#u.posToVal(this.#u.cursor.left, "x"), event.shiftKey));
  }

  /** Fingers drag like a mouse while ranges are compared. Else they scroll the page. */
  #fingers(range) {
    const u = this.#u, { over } = u;
    let from = null, to = 0;
    const place = (event) => {
      const { left, width } = over.getBoundingClientRect();
      return Math.min(width, Math.max(0, event.clientX - left));
    };
    const select = (left, width) => u.setSelect({ left, top: 0, width, height: width && over.clientHeight }, false);
    over.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "mouse" || !this.host.closest(".comparing")) return;
      from = to = place(event);
      over.setPointerCapture(event.pointerId);
    });
    over.addEventListener("pointermove", (event) => {
      if (from === null) return;
      to = place(event);
      select(Math.min(from, to), Math.abs(to - from));
    });
    const end = (drawn) => {
      const [left, right] = [Math.min(from, to), Math.max(from, to)];
      if (from !== null) select(0, 0);
      if (drawn && from !== null && right - left >= 6) range(u.posToVal(left, "x"), u.posToVal(right, "x"), false);
      from = null;
    };
    over.addEventListener("pointerup", () => end(true));
    over.addEventListener("pointercancel", () => end(false));
  }

  get #narrow() {
    return this.host.clientWidth < 500;
  }

  /** There is no half of a user. */
  #steps() {
    const least = counts(this.lines[0]?.statistic) ? 0 : -9;
    return Array.from({ length: 3 * (16 - least) }, (_, i) => [1, 2, 5][i % 3] * 10 ** (least + Math.floor(i / 3)));
  }

  #axes() {
    const log = this.axis[2] && { splits: () => this.#steps().filter((at) => at >= this.axis[0] && at <= this.axis[1]), filter: (u, splits) => splits };
    const common = { stroke: () => color("quiet"), grid: { stroke: () => color("grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    if (this.rows) return [{ show: false }, { ...common, grid: { show: false }, values: (u, splits) => splits.map(() => ""), size: () => this.#narrow ? 52 : 58 }];
    return [
      { ...common, values: (u, splits, axis, space, step) => splits.map((at) => u.valToPos(at, "x") < 20 ? "" : mark(at, step)), space: 80, size: 28 },
      { ...common, values: (u, splits) => splits.map((value) => value === 0 ? "0" : rounded(value)), incrs: () => this.#steps(), size: () => this.#narrow ? 52 : 58, space: 36, ...log },
    ];
  }
}
