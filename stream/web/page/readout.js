// What is known of one window: the one below the cursor, or the newest.

import { h, say } from "./dom.js";
import { alarmed, isHeld, isTotal, isWatch } from "./figures.js";
import { boundText, errorShort, errorText, figureText, incompleteText, lossText, noiseText, rounded, sinceText, utc, windowText } from "./format.js";
import { remedyOf, remedyText, stateOf, watchText } from "./streams.js";

/** Watches, figures on change and totals cost their ε once: until they fire, are drawn anew, or their period ends. */
const once = (figure) => figure.status === "ok" && (isWatch(figure.statistic) || isHeld(figure) || isTotal(figure));

export class Readout {
  #when = h("caption", {});
  #body = h("tbody", {});
  #truth = h("th", { scope: "col" }, "truth");
  element = h("div", { class: "readout", role: "region", tabindex: 0, "aria-label": "Window" }, h("table", {}, this.#when,
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "figure"), h("th", { scope: "col" }, "value"), h("th", { scope: "col" }, "error"), h("th", { scope: "col" }, "state"),
      h("th", { scope: "col" }, "ε"), this.#truth)),
    this.#body));

  /**
   * @param {Object} stream
   * @param {Object|null} totals what running totals are compared with, once it is loaded
   * @param {import("./lines.js").Line[]} lines
   * @param {import("./detail.js").Window|undefined} window
   * @param {{truth: import("../demo/truth.js").Truth?, figures: import("./figures.js").Figures}} app
   * @param {boolean} pointed whether the cursor is there
   */
  show(stream, totals, lines, window, { truth, figures }, pointed) {
    if (!window) {
      say(this.#when, "No window in this range.");
      this.#body.replaceChildren();
      return;
    }
    say(this.#when, `${pointed ? "Window" : "Newest window"} ${windowText(window)}`, `${utc(window.start)} – ${utc(window.end)}`);
    this.#truth.hidden = !truth?.shown;
    this.#body.replaceChildren(...lines.map((line) => {
      const figure = window.figures.find((f) => f.release === line.name);
      const name = h("th", { scope: "row" }, h("span", { class: `swatch line-${line.color}`, "aria-hidden": "true" }), line.name);
      if (!figure) return h("tr", {}, name, h("td", { colspan: 5 }, "–"));
      const text = figureText(figure), noise = figure.quality === "noise";
      const { kind, text: said, title } = stateOf(stream, line.figures.slice(0, line.figures.indexOf(figure) + 1), figures);
      const state = [figure.status === "ok" && !noise && !(pointed && kind === "normal") ? said : "", // only the newest is known to be compared
        isTotal(figure) && figure.status === "ok" ? sinceText(figure) : "", isTotal(figure) && totals ? totals.text(stream, line, figure) : "", noise && !pointed ? remedyText(remedyOf(stream, figure)) : "", figure.incomplete ? incompleteText : ""].filter(Boolean).join(", ");
      const real = truth?.of(figure);
      const look = alarmed(figure) ? "fires" : figure.status === "ok" ? figure.quality : "withheld";
      const [wide, narrow] = alarmed(figure) ? [watchText(stream, figure), watchText(stream, figure)] : [boundText(figure), errorShort(figure)];
      return h("tr", { class: look }, name,
        h("td", { class: "number", title: noise ? `${text.value} ${text.unit}, ${text.exact}` : text.exact }, noise ? noiseText(figure) : `${text.value} ${text.unit}`),
        h("td", { title: errorText(figure) }, h("span", { class: "wide" }, wide), h("span", { class: "narrow" }, narrow)),
        h("td", { title }, state),
        h("td", { class: "number", title: once(figure) ? "for all windows of an instance together" : "" }, `${lossText(figure.epsilon)}${once(figure) ? " once" : ""}`),
        truth?.shown ? h("td", { class: "number" }, real === undefined ? "–" : rounded(real)) : null);
    }));
  }
}
