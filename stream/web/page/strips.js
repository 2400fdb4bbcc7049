// Watches: a strip for each, filled where it fires and striped while it then waits.

import { alarmed, fires } from "./figures.js";
import { from, visible } from "./lines.js";
import { color, hatch, joined, places } from "./paint.js";

/** The height of a strip with the room around it, in CSS pixels. */
export const stripHeight = 22;

/** Draws a strip a watch, from the top down. */
export function strips(u, plot) {
  const { ctx, bbox } = u, { x } = places(u);
  const row = bbox.height / plot.lines.length;
  plot.lines.forEach((line, i) => {
    const top = bbox.top + (i + 0.2) * row, height = 0.6 * row;
    const piece = ([start, end]) => {
      const left = Math.max(bbox.left, x(start));
      return [left, top, Math.max(1, Math.min(bbox.left + bbox.width, x(end)) - left), height];
    };
    const runs = (wanted) => joined(visible(line, plot.start, plot.end).filter(wanted).map((figure) => [from(line, figure), figure.end, figure])).map(piece);
    ctx.save();
    ctx.fillStyle = color("gap");
    for (const at of runs((figure) => figure.status === "ok")) ctx.fillRect(...at);
    for (const at of runs((figure) => figure.status !== "ok")) hatch(ctx, at, color("quiet"));
    for (const at of runs((figure) => alarmed(figure) && !fires(figure))) hatch(ctx, at, color("bad"));
    ctx.fillStyle = color("bad");
    for (const at of runs(fires)) ctx.fillRect(...at);
    ctx.restore();
  });
}
