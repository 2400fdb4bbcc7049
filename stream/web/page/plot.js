// A plot of series on one axis: uPlot draws the lines, the axes and the cursor; paint.js what is below and above them.

import { mark, rounded } from "./format.js";
import { columns } from "./lines.js";
import { above, below, color } from "./paint.js";

/** Draws each value up to the next time: a figure belongs to all of its window, and where there is none, there is no line. */
function steps(u, series) {
  const stroke = new Path2D();
  const [xs, ys] = [u.data[0], u.data[series]];
  let drawing = false;
  for (let i = 0; i + 1 < xs.length; i++) {
    if (ys[i] === null) {
      drawing = false;
      continue;
    }
    const x = u.valToPos(xs[i], "x", true), y = u.valToPos(ys[i], "y", true);
    if (drawing) stroke.lineTo(x, y);
    else stroke.moveTo(x, y);
    stroke.lineTo(u.valToPos(xs[i + 1], "x", true), y);
    drawing = true;
  }
  return { stroke, fill: null, clip: null, band: null, gaps: null, flags: 0 };
}

const strokeOf = (line) => color(`line-${line.color}`);

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) target.plot?.fit();
});

export class Plot {
  #host;
  #options;
  #u = null;
  /** @type {import("./lines.js").Line[]} */
  lines = [];
  start = 0;
  end = 1;
  axis = [0, 1];
  /** What else is painted: picked windows [[from, to], …]; in a demo the truth of a figure, and whether it is of an incident. */
  extras = {};

  /**
   * @param {HTMLElement} host which says how large the plot is
   * @param {{small?: boolean, unit?: string, hover?: (at: number|null) => void, pick?: (at: number) => void, range?: (start: number, end: number) => void}} options
   */
  constructor(host, options) {
    this.#host = host;
    this.#options = options;
    host.plot = this;
    sizes.observe(host);
  }

  /** Shows lines between two times, on an axis. */
  show(lines, start, end, axis, extras = {}) {
    const again = this.#u && lines.length === this.lines.length && lines.every((line, i) => line.name === this.lines[i].name && line.color === this.lines[i].color);
    Object.assign(this, { lines, start, end, axis, extras });
    if (!again) this.#make();
    else this.#u?.setData(columns(lines, start, end));
  }

  /** Draws again, as after a change of colours. */
  redraw() {
    this.#u?.redraw(true, true);
  }

  /** Takes the size of the host. */
  fit() {
    const { clientWidth: width, clientHeight: height } = this.#host;
    if (!this.#u) this.#make();
    else if (width > 0 && height > 0) this.#u.setSize({ width, height });
  }

  /** Puts the cursor at a time, or nowhere. */
  point(at) {
    this.#u?.setCursor(at === null ? { left: -10, top: -10 } : { left: this.#u.valToPos(at, "x"), top: 1 });
  }

  remove() {
    sizes.unobserve(this.#host);
    this.#u?.destroy();
    this.#u = null;
  }

  #make() {
    this.#u?.destroy();
    this.#u = null;
    const { clientWidth: width, clientHeight: height } = this.#host;
    if (width === 0 || height === 0) return; // not laid out yet: fit comes
    const { small, hover, pick, range } = this.#options;
    const series = [{}];
    for (const line of this.lines) {
      const common = { stroke: () => strokeOf(line), width: small ? 1.5 : 2, paths: steps, points: { show: false }, spanGaps: true };
      series.push({ ...common }, { ...common, dash: [5, 4] });
    }
    this.#u = new window.uPlot({
      width, height, series,
      padding: small ? [2, 0, 2, 0] : [10, width < 500 ? 52 : 76, 0, 0],
      legend: { show: false },
      cursor: small ? { show: false } : { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: 6 }, sync: { key: "detail" } },
      scales: { x: { range: () => [this.start, this.end] }, y: { range: () => this.axis } },
      axes: small ? [{ show: false }, { show: false }] : this.#axes(),
      hooks: {
        drawAxes: [(u) => below(u, this)],
        draw: [(u) => above(u, this, small)],
        setCursor: hover ? [(u) => hover(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null)] : [],
        setSelect: range ? [(u) => {
          if (u.select.width < 6) return;
          range(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }] : [],
      },
    }, columns(this.lines, this.start, this.end), this.#host);
    if (pick) this.#u.over.addEventListener("click", () => pick(this.#u.posToVal(this.#u.cursor.left, "x")));
  }

  #axes() {
    const common = { stroke: () => color("quiet"), grid: { stroke: () => color("grid"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    return [
      { ...common, values: (u, splits, axis, space, step) => splits.map((at) => mark(at, step)), space: 80, size: 28 },
      { ...common, values: (u, splits) => splits.map((value) => value === 0 ? "0" : rounded(value)), size: 58, space: 36 },
    ];
  }
}
