// The table of windows behind the plots.

import { changed, h, say } from "./dom.js";
import { alarmed } from "./figures.js";
import { errorText, figureText, noiseText, utc, windowText } from "./format.js";

const rowsAtFirst = 50, rowsMore = 500;

export class Table {
  #pick;
  #most = rowsAtFirst;
  #last = null;
  #rows = new Map();
  #head = h("tr", {});
  #body = h("tbody", {});
  #more = h("button", { type: "button", onclick: () => {
    this.#most += rowsMore;
    this.show(...this.#last);
  } });
  element = h("section", { class: "windows" }, h("h2", {}, "Windows"), h("p", { class: "about" }, "Pick two windows, here or in the plot, to see whether they differ by more than noise and the usual variation explain. With Shift, a second one extends the first to a range."),
    h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Windows" }, h("table", {}, h("thead", {}, this.#head), this.#body)), this.#more);

  /** @param {(window: import("./detail.js").Window, shift: boolean) => void} pick */
  constructor(pick) {
    this.#pick = pick;
  }

  /**
   * @param {import("./lines.js").Line[]} lines
   * @param {import("./detail.js").Window[]} windows oldest first
   * @param {import("../comparison/compare.js").Comparison?} comparison once there is a pick
   * @param {Map<string, Object>} signals
   */
  show(lines, windows, comparison, signals) {
    this.#last = [lines, windows, comparison, signals];
    const names = lines.map((line) => line.name);
    if (changed(this.#head, names)) {
      this.#head.replaceChildren(...["compare", "window", ...names].map((name) => h("th", { scope: "col" }, name)));
      this.#rows.clear();
    }
    const rows = new Map();
    for (const window of windows.slice(-this.#most).reverse()) {
      const key = `${window.start}–${window.end}`;
      const mark = comparison?.mark(window) ?? "";
      const content = JSON.stringify([window.figures, mark, window.figures.map((f) => signals.get(f.id)?.direction)]);
      const known = this.#rows.get(key);
      rows.set(key, known?.content === content ? known : this.#row(known, window, names, mark, content, signals));
    }
    this.#rows = rows;
    const wanted = [...rows.values()].map((row) => row.element);
    wanted.forEach((element, i) => {
      if (this.#body.children[i] !== element) this.#body.insertBefore(element, this.#body.children[i] ?? null);
    });
    while (this.#body.children.length > wanted.length) this.#body.lastChild.remove();
    this.#more.hidden = windows.length <= this.#most;
    say(this.#more, `Show ${Math.min(rowsMore, windows.length - this.#most)} more of ${windows.length} windows`);
  }

  #row(known, window, names, mark, content, signals) {
    const row = known ?? { element: h("tr", {}), button: h("button", { type: "button", class: "pick" }) };
    row.content = content;
    row.button.onclick = (event) => this.#pick(window, event.shiftKey);
    row.button.setAttribute("aria-pressed", String(mark !== ""));
    row.button.setAttribute("aria-label", `Compare ${windowText(window)}`);
    say(row.button, mark || "+");
    const cells = [h("th", { scope: "row", title: `${utc(window.start)} – ${utc(window.end)}` }, windowText(window)), ...names.map((name) => cell(window, name, signals))];
    if (!known) row.element.append(h("td", {}, row.button));
    while (row.element.children.length > 1) row.element.lastChild.remove(); // the button keeps the focus
    row.element.append(...cells);
    return row;
  }
}

function cell(window, name, signals) {
  const figure = window.figures.find((f) => f.release === name);
  if (!figure) return h("td", {}); // as of roll-ups, which have windows of their own
  const text = figureText(figure), signal = signals.get(figure.id);
  const noise = figure.quality === "noise", state = figure.incomplete ? "incomplete" : "";
  return h("td", { class: alarmed(figure) ? "fires" : figure.status === "ok" ? figure.quality : "withheld",
    title: [text.exact, errorText(figure)].filter(Boolean).join(" · ") },
    h("span", { class: "number" }, noise ? noiseText(figure) : `${text.value} ${text.unit}`), " ", h("span", { class: "error" }, noise ? "" : text.error),
    signal ? h("span", { class: "signal", role: "note", tabindex: 0, title: signal.sentence, "aria-label": signal.sentence }, signal.direction === "above" ? " ↑ higher" : " ↓ lower") : null, state ? h("span", { class: "mark" }, ` ${state}`) : null);
}
