// What a plot shows besides lines: uncertainty below them; names, picked windows and the simulated truth above.

import { band } from "./figures.js";
import { beginnings, dotted, from, visible } from "./lines.js";
import { reasonText, tooFew } from "./format.js";

const style = getComputedStyle(document.documentElement);
/** A colour of the theme. */
export const color = (name) => style.getPropertyValue(`--${name}`).trim();

export const pixels = () => window.uPlot.pxRatio;

const font = (size, weight = 400) => `${weight} ${size * pixels()}px system-ui, sans-serif`;

/** The middle of what is drawn of a window. */
const middle = (line, figure) => (from(line, figure) + figure.end) / 2;

/** Runs of neighbouring stretches that are alike, joined: [[from, to, figures], …]. */
export function joined(stretches, alike = () => true) {
  const runs = [];
  for (const [start, end, figure] of stretches) {
    const last = runs.at(-1);
    if (last && start <= last[1] && alike(figure, last[2][0])) {
      last[1] = Math.max(last[1], end);
      last[2].push(figure);
    } else runs.push([start, end, [figure]]);
  }
  return runs;
}

/** Where times and values are on the canvas: uPlot's own functions take much longer. */
export function places(u) {
  const { bbox, scales } = u;
  const { min, max, distr } = scales.y, on = (value) => distr === 3 ? Math.log(Math.max(value, min)) : value;
  const across = bbox.width / (scales.x.max - scales.x.min), up = bbox.height / (on(max) - on(min));
  return { x: (at) => bbox.left + across * (at - scales.x.min), y: (value) => bbox.top + bbox.height - up * (on(value) - on(min)) };
}

/** Fills below the lines: incidents, bands, and what is no figure to rely on. */
export function below(u, plot) {
  const { ctx, bbox } = u;
  const place = places(u);
  const x = (at) => Math.round(place.x(Math.min(plot.end, Math.max(plot.start, at))));
  const y = (value) => Math.round(place.y(value));
  const column = (start, end) => [x(start), bbox.top, Math.max(1, x(end) - x(start)), bbox.height];
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const { incident } = plot.extras;
  if (incident && plot.lines.length > 0) {
    const slow = visible(plot.lines[0], plot.start, plot.end).filter(incident).map((figure) => [from(plot.lines[0], figure), figure.end, figure]);
    for (const [start, end] of joined(slow)) area(ctx, column(start, end), "incident", "incident");
  }
  const { silent } = plot.extras;
  if (silent) area(ctx, column(silent, plot.end), "gap", "hardly anybody");
  for (const line of plot.lines) line.before?.draw(ctx, place);
  const withheld = [], incomplete = [], noise = [];
  for (const line of plot.lines) {
    const bands = new Bands(ctx, !plot.small), anew = beginnings(line, plot.start, plot.end);
    ctx.fillStyle = color(`line-${line.color}`);
    for (const figure of visible(line, plot.start, plot.end)) {
      const stretch = [from(line, figure), figure.end, figure];
      if (figure.incomplete) incomplete.push(stretch);
      if (figure.status !== "ok") {
        withheld.push(stretch);
        continue;
      }
      if (figure.quality === "noise") {
        if (!silent || figure.start < silent) noise.push([...stretch, line]);
        continue;
      }
      const around = band(figure);
      if (anew.has(stretch[0])) bands.end();
      if (around) bands.add(x(stretch[0]), x(stretch[1]), y(around.high), y(around.low));
    }
    bands.end();
    ctx.globalAlpha = 1;
  }
  const ordered = (stretches, alike) => joined(stretches.sort((a, b) => a[0] - b[0]), alike);
  const unread = [...Map.groupBy(noise, ([, end]) => end).values()].map((all) => [...all[0].slice(0, 2), { color: all[0][3].color, names: all.map(([, , , line]) => line.name).join(", ") }]);
  for (const [start, end, [{ color: n, names }]] of ordered(unread, (a, b) => a.names === b.names)) {
    fog(ctx, column(start, end), color(`line-${n}`), plot.lines.length > 1 ? `${names}: ${tooFew}` : tooFew);
  }
  for (const [start, end] of ordered(incomplete)) hatch(ctx, column(start, end), color("warn"));
  const gaps = new Map(); // how many lines have none, by the end of the window
  for (const [, end] of withheld) gaps.set(end, (gaps.get(end) ?? 0) + 1);
  for (const [start, end, figures] of ordered(withheld, (a, b) => a.reason === b.reason || a.end === b.end)) {
    missing(ctx, column(start, end), reasonText(figures[0]), figures.every((figure) => gaps.get(figure.end) === plot.lines.length));
  }
  ctx.restore();
}

/** Fills bands, and draws edges if wanted. Bands narrower than a line fall together, to what they cover. */
class Bands {
  #ctx;
  #edges;
  #open = null;

  constructor(ctx, edges) {
    this.#ctx = ctx;
    this.#edges = edges;
  }

  add(left, right, top, bottom) {
    if (this.#open && (left > this.#open.right || this.#open.right - this.#open.left >= 2 * pixels())) this.end();
    const { left: first = left, top: high = top, bottom: low = bottom } = this.#open ?? {};
    this.#open = { left: first, right, top: Math.min(high, top), bottom: Math.max(low, bottom) };
  }

  end() {
    if (!this.#open) return;
    const { left, right, top, bottom } = this.#open;
    this.#ctx.globalAlpha = 0.26;
    this.#ctx.fillRect(left, top, right - left, Math.max(1, bottom - top));
    const edge = Math.round(pixels());
    if (this.#edges && bottom - top >= 10 * edge) {
      this.#ctx.globalAlpha = 0.66; // upon the fill it reaches the contrast of 3:1 that WCAG wants of graphics
      this.#ctx.fillRect(left, top, right - left, edge);
      this.#ctx.fillRect(left, bottom - edge, right - left, edge);
    }
    this.#open = null;
  }
}

/** Noise looks like noise: a fog and specks, the same everywhere, so that nothing looks like a course of the figure. */
function fog(ctx, [left, top, width, height], paint, text) {
  const fill = ctx.createLinearGradient(0, top, 0, top + height);
  ["00", "ff", "00"].forEach((alpha, i) => fill.addColorStop(i / 2, paint + alpha));
  ctx.save();
  ctx.fillStyle = fill;
  ctx.globalAlpha = 0.22;
  ctx.fillRect(left, top, width, height);
  ctx.globalAlpha = 0.5;
  const grain = 7 * pixels(), size = 1.25 * pixels();
  for (let x = left; x < left + width; x += grain) {
    for (let y = top; y < top + height; y += grain) {
      const far = scatter(x - left, y - top);
      if (x + grain * far < left + width) ctx.fillRect(x + grain * far, y + grain * scatter(y, x), size, size);
    }
  }
  ctx.restore();
  label(ctx, text, left, top, width);
}

/** A number in [0, 1) that looks random and is always the same: the specks stay where they are. */
const scatter = (x, y) => Math.abs(Math.sin(x * 12.9898 + y * 78.233) * 43758.5453) % 1;

/** Incomplete windows are hatched, and those that a watch did not look at. */
export function hatch(ctx, [left, top, width, height], paint) {
  const gap = 6 * pixels();
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.beginPath();
  for (let at = left - height - (left - height) % gap; at < left + width; at += gap) {
    ctx.moveTo(at, top + height);
    ctx.lineTo(at + height, top);
  }
  ctx.setLineDash([]);
  ctx.strokeStyle = paint;
  ctx.globalAlpha = 0.6;
  ctx.lineWidth = pixels();
  ctx.stroke();
  ctx.restore();
}

/** A withheld window is a gap with a cross at its foot, and the reason where there is room. If lines go on, there is no gap. */
function missing(ctx, [left, top, width, height], reason, all) {
  ctx.save();
  if (all) area(ctx, [left, top, Math.max(1, width - pixels()), height], "gap", `withheld: ${reason}`); // a seam parts it from the next one
  const arm = 3.5 * pixels(), x = left + width / 2, y = top + height - 2.5 * arm;
  ctx.beginPath();
  ctx.moveTo(x - arm, y - arm);
  ctx.lineTo(x + arm, y + arm);
  ctx.moveTo(x + arm, y - arm);
  ctx.lineTo(x - arm, y + arm);
  ctx.setLineDash([]);
  ctx.strokeStyle = color("warn");
  ctx.lineWidth = 1.75 * pixels();
  ctx.stroke();
  ctx.restore();
}

/** Writes at the top of a column, beside a mark, if there is room for its widest word. */
function label(ctx, text, left, top, width) {
  ctx.font = font(11);
  ctx.fillStyle = color("quiet");
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  const fits = (line) => ctx.measureText(line).width < width - 13 * pixels(), words = text.split(" ");
  if (!words.every(fits)) return;
  const lines = words.reduce((lines, word) => fits(`${lines.at(-1)} ${word}`) ? [...lines.slice(0, -1), `${lines.at(-1)} ${word}`] : [...lines, word], [words.shift()]);
  lines.forEach((line, i) => ctx.fillText(line, left + 11 * pixels(), top + (3 + 13 * i) * pixels()));
}

/** Windows of a kind with a colour and a name. */
function area(ctx, [left, top, width, height], paint, text) {
  ctx.fillStyle = color(paint);
  ctx.fillRect(left, top, width, height);
  label(ctx, text, left, top, width);
}

/** Draws above the lines: picked windows, the simulated truth, and the names at the ends of the lines. */
export function above(u, plot) {
  const { ctx, bbox } = u;
  ctx.save();
  for (const line of plot.lines) {
    dots(u, plot, line, plot.small ? 2 : 3);
    marked(u, plot, line);
  }
  picked(u, plot);
  truth(u, plot);
  if (!plot.small) names(u, plot, ctx, bbox);
  ctx.restore();
}

function picked(u, plot) {
  const { ctx, bbox } = u, { x } = places(u);
  ctx.strokeStyle = color("text");
  ctx.lineWidth = 1.5 * pixels();
  ctx.setLineDash([]);
  ctx.textBaseline = "alphabetic";
  ctx.font = font(12, 700);
  ctx.textAlign = "center";
  (plot.extras.picked ?? []).forEach(([start, end], i) => {
    if (end <= plot.start || start >= plot.end) return;
    const left = x(Math.max(start, plot.start)), right = x(Math.min(end, plot.end));
    ctx.strokeRect(left, bbox.top, Math.max(1, right - left), bbox.height);
    ctx.fillStyle = color("text");
    ctx.fillText("AB"[i], (left + right) / 2, bbox.top - 2 * pixels());
  });
}

/**
 * A dot in the middle of a window: of a mode, which has no line, where a figure on change was drawn, and where a total's period ends. A ring
 * if it is rough. Many modes are smaller.
 */
function dots(u, plot, line, most) {
  const { ctx } = u, { x, y } = places(u);
  const wide = line.every ? u.bbox.width / pixels() * line.every / (plot.end - plot.start) : most;
  const radius = dotted(line) ? Math.min(most, Math.max(1.5, 0.4 * wide)) : most + 1;
  ctx.fillStyle = ctx.strokeStyle = color(`line-${line.color}`);
  ctx.lineWidth = 1.5 * pixels();
  ctx.setLineDash([]);
  for (const figure of visible(line, plot.start, plot.end)) {
    if (figure.status !== "ok" || figure.quality === "noise" || !dotted(line) && !figure.changed && !figure.final) continue;
    ctx.beginPath();
    ctx.arc(x(middle(line, figure)), y(figure.value), radius * pixels(), 0, 7);
    if (figure.quality === "rough") ctx.stroke();
    else ctx.fill();
  }
}

/** A small diamond above each window with which a stretch begins that differs from those before it: see the legend. */
function marked(u, plot, line) {
  const { ctx, bbox } = u, { x } = places(u), arm = (plot.small ? 3 : 4) * pixels();
  ctx.fillStyle = color("text");
  for (const figure of visible(line, plot.start, plot.end)) {
    if (!plot.extras.signals?.has(figure.id)) continue;
    const at = x(middle(line, figure)), y = bbox.top + arm;
    ctx.beginPath();
    for (const [across, down] of [[0, -arm], [arm, 0], [0, arm], [-arm, 0]]) ctx.lineTo(at + across, y + down);
    ctx.fill();
  }
}

function truth(u, plot) {
  const { ctx } = u, { x, y } = places(u);
  if (!plot.extras.truth) return;
  ctx.fillStyle = color("text");
  for (const line of plot.lines) {
    for (const figure of visible(line, plot.start, plot.end)) {
      const value = plot.extras.truth(figure);
      if (value === undefined) continue;
      ctx.beginPath();
      ctx.arc(x(middle(line, figure)), y(value), 1.6 * pixels(), 0, 7);
      ctx.fill();
    }
  }
}

/** Names stand where the lines end, as far as there is room, so that colour alone does not part them. */
function names(u, plot, ctx, bbox) {
  const height = 14 * pixels(), { y } = places(u);
  const ends = [];
  for (const line of plot.lines) {
    const last = visible(line, plot.start, plot.end).findLast((figure) => figure.status === "ok");
    if (plot.rows) ends.push({ line, y: bbox.top + (plot.lines.indexOf(line) + 0.5) * bbox.height / plot.lines.length });
    else if (last) {
      const [, , past] = line.before?.steps.at(-1) ?? [];
      if (past !== undefined && !ends.some(({ name }) => name)) ends.push({ line, name: line.before.name, y: y(past) });
      ends.push({ line, y: y(last.quality === "noise" ? (plot.axis[0] + plot.axis[1]) / 2 : last.value) });
    }
  }
  ends.splice(Math.floor(bbox.height / height));
  ends.sort((a, b) => a.y - b.y);
  const right = bbox.left + bbox.width;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  let free = -Infinity;
  const room = (ends.length - 1) * height;
  ends.forEach(({ line, name, y }, i) => {
    const lowest = bbox.top + bbox.height - room + i * height;
    free = Math.max(free, Math.min(y, lowest));
    ctx.fillStyle = color(name ? "quiet" : `line-${line.color}`);
    ctx.font = font(12, name ? 400 : 600);
    ctx.fillText(name?.replace(/^(the|an) /, "") ?? line.name, right + 6 * pixels(), free, u.ctx.canvas.width - right - 8 * pixels());
    free += height;
  });
}
