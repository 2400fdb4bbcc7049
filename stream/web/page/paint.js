// What a plot shows besides lines: uncertainty below them; names, picked windows and the simulated truth above.

import { band } from "./figures.js";
import { from, visible } from "./lines.js";

const style = getComputedStyle(document.documentElement);
/** A colour of the theme. */
export const color = (name) => style.getPropertyValue(`--${name}`).trim();

const pixels = () => window.uPlot.pxRatio;

/** Runs of neighbouring stretches, joined: [[from, to], …]. */
function joined(stretches) {
  const runs = [];
  for (const [start, end] of stretches) {
    const last = runs.at(-1);
    if (last && start <= last[1]) last[1] = Math.max(last[1], end);
    else runs.push([start, end]);
  }
  return runs;
}

/** Fills below the lines: incidents, bands, and what is no figure to rely on. */
export function below(u, plot) {
  const { ctx, bbox } = u;
  const x = (at) => Math.round(u.valToPos(Math.min(plot.end, Math.max(plot.start, at)), "x", true));
  const y = (value) => Math.round(u.valToPos(value, "y", true));
  const column = (start, end) => [x(start), bbox.top, Math.max(1, x(end) - x(start)), bbox.height];
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const { incident } = plot.extras;
  if (incident && plot.lines.length > 0) {
    const slow = visible(plot.lines[0], plot.start, plot.end).filter(incident).map((figure) => [from(plot.lines[0], figure), figure.end]);
    for (const [start, end] of joined(slow)) shade(ctx, column(start, end));
  }
  const withheld = [], incomplete = [];
  for (const line of plot.lines) {
    const bands = new Path2D(), noise = [];
    for (const figure of visible(line, plot.start, plot.end)) {
      const stretch = [from(line, figure), figure.end];
      if (figure.incomplete) incomplete.push(stretch);
      if (figure.status !== "ok") {
        withheld.push(stretch);
        continue;
      }
      if (figure.quality === "noise") {
        noise.push(stretch);
        continue;
      }
      const around = band(figure);
      if (around) bands.rect(x(stretch[0]), y(around.high), x(stretch[1]) - x(stretch[0]), Math.max(1, y(around.low) - y(around.high)));
    }
    ctx.fillStyle = color(`line-${line.color}`);
    ctx.globalAlpha = 0.26;
    ctx.fill(bands);
    for (const [start, end] of joined(noise)) fog(ctx, column(start, end), ctx.fillStyle);
    ctx.globalAlpha = 1;
  }
  const ordered = (stretches) => joined(stretches.sort((a, b) => a[0] - b[0]));
  for (const [start, end] of ordered(incomplete)) hatch(ctx, column(start, end), color("warn"));
  for (const [start, end] of ordered(withheld)) missing(ctx, column(start, end));
  ctx.restore();
}

/** Noise looks like noise: a fog over all values, and no line. */
function fog(ctx, [left, top, width, height], paint) {
  const fill = ctx.createLinearGradient(0, top, 0, top + height);
  for (const [at, alpha] of [[0, "00"], [0.5, "ff"], [1, "00"]]) fill.addColorStop(at, paint + alpha);
  ctx.save();
  ctx.globalAlpha = 0.22;
  ctx.fillStyle = fill;
  ctx.fillRect(left, top, width, height);
  ctx.restore();
}

/** Incomplete windows are hatched. */
function hatch(ctx, [left, top, width, height], paint) {
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

/** A withheld window is a gap with a cross at its foot. */
function missing(ctx, [left, top, width, height]) {
  ctx.save();
  ctx.fillStyle = color("gap");
  ctx.fillRect(left, top, width, height);
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

/** Windows in which a demo simulates an incident. */
function shade(ctx, [left, top, width, height]) {
  ctx.save();
  ctx.fillStyle = color("incident");
  ctx.fillRect(left, top, width, height);
  ctx.font = `${11 * pixels()}px system-ui, sans-serif`;
  ctx.fillStyle = color("quiet");
  ctx.textAlign = "left";
  ctx.textBaseline = "top";
  if (ctx.measureText("incident").width < width - 6) ctx.fillText("incident", left + 4, top + 3);
  ctx.restore();
}

/** Draws above the lines: picked windows, the simulated truth, and the names at the ends of the lines. */
export function above(u, plot, small) {
  const { ctx, bbox } = u;
  ctx.save();
  picked(u, plot);
  truth(u, plot);
  if (!small) names(u, plot, ctx, bbox);
  ctx.restore();
}

function picked(u, plot) {
  const { ctx, bbox } = u;
  ctx.strokeStyle = color("text");
  ctx.lineWidth = 1.5 * pixels();
  ctx.setLineDash([]);
  ctx.textBaseline = "alphabetic";
  ctx.font = `bold ${12 * pixels()}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  (plot.extras.picked ?? []).forEach(([start, end], i) => {
    if (end <= plot.start || start >= plot.end) return;
    const left = u.valToPos(Math.max(start, plot.start), "x", true), right = u.valToPos(Math.min(end, plot.end), "x", true);
    ctx.strokeRect(left, bbox.top, Math.max(1, right - left), bbox.height);
    ctx.fillStyle = color("text");
    ctx.fillText("AB"[i], (left + right) / 2, bbox.top - 2 * pixels());
  });
}

function truth(u, plot) {
  const { ctx } = u;
  if (!plot.extras.truth) return;
  ctx.fillStyle = color("text");
  for (const line of plot.lines) {
    for (const figure of visible(line, plot.start, plot.end)) {
      const value = plot.extras.truth(figure);
      if (value === undefined) continue;
      ctx.beginPath();
      ctx.arc(u.valToPos((from(line, figure) + figure.end) / 2, "x", true), u.valToPos(value, "y", true), 1.6 * pixels(), 0, 7);
      ctx.fill();
    }
  }
}

/** Names stand where the lines end, so that colour alone does not part them. */
function names(u, plot, ctx, bbox) {
  const height = 14 * pixels();
  const ends = [];
  for (const line of plot.lines) {
    const last = visible(line, plot.start, plot.end).findLast((figure) => figure.status === "ok");
    if (last) ends.push({ line, y: u.valToPos(last.quality === "noise" ? (plot.axis[0] + plot.axis[1]) / 2 : last.value, "y", true) });
  }
  ends.sort((a, b) => a.y - b.y);
  const right = bbox.left + bbox.width;
  ctx.font = `600 ${12 * pixels()}px system-ui, sans-serif`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  let free = -Infinity;
  const room = (ends.length - 1) * height;
  ends.forEach(({ line, y }, i) => {
    const lowest = bbox.top + bbox.height - room + i * height;
    free = Math.max(free, Math.min(y, lowest));
    ctx.fillStyle = color(`line-${line.color}`);
    ctx.fillText(line.name, right + 6 * pixels(), free, u.ctx.canvas.width - right - 8 * pixels());
    free += height;
  });
}
