// The shares of a window's users up to each end of a bucket, with their bands, beside those of the same time a day before.

import { ask } from "./api.js";
import { h, say } from "./dom.js";
import { utc, windowText } from "./format.js";
import { below, sheet, sides } from "./heatmap.js";
import { color } from "./paint.js";

const tall = 220, day = 86400;

export class Shares {
  #map = h("canvas", { role: "img" });
  #note = h("p", { class: "about" });
  #picked = null; // what is known of the window, and of the one a day before
  element = h("div", { hidden: true }, this.#map, this.#note);

  /** Shows those of a column of the heat map. */
  async show({ stream, group, release }, column) {
    const get = (end) => ask("distribution", { stream, group, release, window_end: utc(end) }).catch(() => null);
    const [now, before] = await Promise.all([get(column.end), get(column.end - day)]);
    this.#picked = now && { column, now, before };
    this.element.hidden = !now;
    this.redraw();
  }

  close() {
    this.#picked = null;
    this.element.hidden = true;
  }

  redraw() {
    if (!this.#picked) return;
    const { column, now, before } = this.#picked;
    const [ctx, width, height] = sheet(this.#map, tall);
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
    say(this.#note, text);
    this.#map.setAttribute("aria-label", text);
  }
}
