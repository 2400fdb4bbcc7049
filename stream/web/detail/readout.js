// The window below the cursor, or the newest: one number large, the others small; behind a click their errors and cost.

import { h, say } from "./dom.js";
import { alarmed, isHeld, isTotal, isWatch } from "./figures.js";
import { errorText, figureText, incompleteText, lossText, noiseText, rounded, sinceText, utc, windowText } from "./format.js";
import { lastText, mainRelease, remedyOf, remedyText, stateOf, watchText } from "./streams.js";

/** Whether a figure costs its ε once for many windows. */
const once = (figure) => figure.status === "ok" && (isWatch(figure.statistic) || isHeld(figure) || isTotal(figure));

/** A line's name and colour. */
export const nameOf = (line) => h("span", { class: "name" }, h("span", { class: `swatch line-${line.color}`, "aria-hidden": "true" }), line.name);

export class Readout {
  #when = h("h2", { class: "when" });
  #main = h("p", { class: "headline" });
  #others = h("ul", { class: "values" });
  #rows = h("tbody", {});
  /** Stands above the plots; on a phone what follows the headline stands below them. */
  element = h("section", { class: "readout", "aria-label": "Window" }, this.#when, this.#main, this.#others,
    h("details", {}, h("summary", {}, "How sure this is, and what it costs"), h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Errors and costs" }, h("table", {},
      h("thead", {}, h("tr", {}, ...["figure", "95 of 100 times", "quality", "ε", "mechanism"].map((name) => h("th", { scope: "col" }, name)))), this.#rows))));

  /**
   * @param {Object} stream
   * @param {Object|null} totals what running totals are compared with, once it is loaded
   * @param {import("./lines.js").Line[]} lines
   * @param {import("./detail.js").Window|undefined} window
   * @param {{truth: import("../demo/truth.js").Truth?, figures: import("./figures.js").Figures}} app
   * @param {boolean} pointed whether the cursor is there
   */
  show(stream, totals, lines, window, app, pointed) {
    say(this.#when, window ? `${pointed ? "Window" : "Newest window"} ${windowText(window)}` : "No window in this range.", window ? `${utc(window.start)} – ${utc(window.end)}` : "");
    const shown = window ? lines : [], of = (line) => line.figures.findLast((f) => f.end === window.end); // that of the newest hour begins earlier
    const main = shown.find((line) => line.name === mainRelease(stream)) ?? shown.find((line) => !isWatch(line.statistic)) ?? shown[0];
    const value = (line) => this.#value(stream, totals, line, of(line), app, pointed, line === main);
    this.#main.hidden = !main;
    if (main) {
      const { kind, parts } = value(main);
      this.#main.className = `headline ${kind}`;
      this.#main.replaceChildren(...parts);
    }
    this.#others.replaceChildren(...shown.filter((line) => line !== main).sort((a, b) => isWatch(b.statistic) - isWatch(a.statistic)).map((line) => {
      const { kind, parts } = value(line);
      return h("li", { class: kind }, ...parts);
    }));
    this.#rows.replaceChildren(...shown.filter(of).map((line) => {
      const figure = of(line);
      return h("tr", {}, h("th", { scope: "row" }, line.name), h("td", {}, errorText(figure)), h("td", {}, isWatch(figure.statistic) ? "" : figure.quality ?? ""),
        h("td", { class: "number", title: once(figure) ? "for all windows of an instance together" : "" }, `${lossText(figure.epsilon)}${figure.active ? " a day" : once(figure) ? " once" : ""}`),
        h("td", {}, (stream.releases.find((r) => r.release === line.name)?.mechanism ?? "").replaceAll("_", " ")));
    }));
  }

  /** A value with its error and its state. */
  #value(stream, totals, line, figure, { truth, figures }, pointed, main) {
    const name = nameOf(line);
    if (!figure) return { kind: "", parts: [name, h("span", { class: "error" }, "none in this window")] };
    const text = figureText(figure), noise = figure.quality === "noise", before = line.figures.slice(0, line.figures.indexOf(figure) + 1);
    const state = stateOf(stream, before, figures), real = truth?.of(figure);
    const silent = state.kind === "silent", last = main || silent ? lastText(before) : "";
    // Only the newest figure is known to be compared. That small ones are normal goes without saying.
    const said = state.kind === "changed" || main && (silent || state.kind === "normal" && !pointed) ? state.text : "";
    const helps = pointed ? "" : last || (silent ? "" : remedyText(remedyOf(stream, figure)));
    const error = alarmed(figure) ? watchText(stream, figure) : silent || state.kind === "few" ? helps : text.error;
    const lasts = figure.status !== "ok" ? "" : isTotal(figure) ? sinceText(figure) : figure.active ? `seen in the last ${figure.active}` : "";
    const total = lasts ? [lasts, totals?.text(stream, line, figure)] : [];
    return { kind: (alarmed(figure) ? "fires" : noise ? "noise" : figure.status === "ok" ? state.kind : "withheld") + (total.length ? " total" : ""), parts: [name, h("span", { class: "what" },
      h("span", { class: "number", title: noise ? `${text.value} ${text.unit}, ${text.exact}` : text.exact }, noise ? noiseText(figure) : text.value, !noise && text.unit ? h("span", { class: "unit" }, ` ${text.unit}`) : null),
      h("span", { class: "error", title: errorText(figure) }, error),
      h("span", { class: "said", title: state.title }, [said, ...total, figure.incomplete ? figure.active ? "some may be missing" : incompleteText : ""].filter(Boolean).join(", ")),
      real === undefined ? null : h("span", { class: "error" }, `truth ${rounded(real)}`))] };
  }
}
