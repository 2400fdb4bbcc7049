// Two windows, or two ranges of windows, side by side: is the difference more than noise and the usual variation explain?

import { ask } from "./api.js";
import { h } from "./dom.js";
import { isWatch } from "./figures.js";
import { several, utc, windowText } from "./format.js";

const words = { noise: "within the noise", change: "more than noise", unknown: "cannot be told" };
const usual = { noise: "within the usual", change: "more than the usual" }; // where the variation counts too

/**
 * One or more neighbouring windows.
 * @typedef {{start: number, end: number, windows: import("./detail.js").Window[]}} Pick
 */

export class Comparison {
  /** @type {Pick[]} at most two */
  picked = [];
  #last = null;
  #asked = 0;
  #changed;
  element = h("section", { class: "comparison panel", "aria-live": "polite", hidden: true });

  /** @param {() => void} changed is called after each pick */
  constructor(changed) {
    this.#changed = changed;
    document.head.append(h("link", { rel: "stylesheet", href: "compare.css" }));
  }

  /** What is picked, as the address has it: from..to. */
  get address() {
    const [a, b] = this.picked.map((pick) => `${utc(pick.start)}..${utc(pick.end)}`);
    return { a, b };
  }

  /** Picks what an address asks for, as far as there are windows. */
  restore(route, all) {
    const found = ranges(route).map(([start, end]) => all.filter((w) => w.start >= start && w.end <= end)).filter((windows) => windows.length > 0);
    this.picked = found.map((windows) => ({ start: windows[0].start, end: windows.at(-1).end, windows }));
    this.#last = this.picked.at(-1) ?? null;
    this.#show();
  }

  /** Picks a window, or takes it back. */
  pick(window) {
    const at = this.picked.findIndex((p) => same(p, window));
    if (at < 0) return this.range([window]);
    this.picked.splice(at, 1);
    this.#show();
    this.#changed();
  }

  /** Picks windows in order of time. A third pick begins anew, and so does one that shares windows with the first. */
  range(windows) {
    if (windows.length === 0) return;
    const pick = { start: windows[0].start, end: windows.at(-1).end, windows };
    const anew = this.picked.length === 2 || this.picked.some((p) => windows.some((w) => holds(p, w)));
    this.picked = [...(anew ? [] : this.picked), pick].sort((a, b) => a.end - b.end);
    this.#last = pick;
    this.#show();
    this.#changed();
  }

  /** Extends the last pick to a window. */
  extend(window, all) {
    if (!this.picked.includes(this.#last)) return this.pick(window);
    const at = [...this.#last.windows, window].map((w) => all.findIndex((other) => same(other, w)));
    this.picked.splice(this.picked.indexOf(this.#last), 1);
    this.range(all.slice(Math.max(0, Math.min(...at)), Math.max(...at) + 1));
  }

  /** "A", "B" or "": the pick that a window belongs to. */
  mark(window) {
    return "AB"[this.picked.findIndex((p) => holds(p, window))] ?? "";
  }

  clear() {
    this.picked = [];
    this.#show();
  }

  async #show() {
    const asked = ++this.#asked;
    this.element.hidden = this.picked.length === 0;
    const [a, b] = this.picked;
    if (!b) {
      this.element.replaceChildren(h("p", {}, a ? `A is ${pickText(a)}. Pick another window or range to compare it with; Esc ends this.` : ""));
      return;
    }
    const names = [...new Set(a.windows.flatMap((w) => w.figures.filter((f) => !isWatch(f.statistic)).map((f) => f.release)))].filter((name) => figureOf(b, name));
    const sentences = await Promise.all(names.map((name) => sentence(a, b, name)));
    if (asked !== this.#asked) return;
    this.element.replaceChildren(h("h2", {}, `A ${pickText(a)}, then B ${pickText(b)}`), h("ul", {}, ...sentences));
  }
}

/** From when to when the ranges go that an address asks for, in seconds since 1970. */
export const ranges = ({ a, b }) => [a, b].filter(Boolean).map((text) => text.split("..").map((at) => Date.parse(at) / 1000)).filter(([start, end]) => start < end);

const same = (a, b) => a.start === b.start && a.end === b.end;

const holds = (pick, window) => pick.windows.some((w) => same(w, window));

const pickText = (pick) => windowText(pick) + (pick.windows.length > 1 ? ` (${several(pick.windows.length, "window")})` : "");

const figureOf = (pick, release) => pick.windows.flatMap((w) => w.figures).find((f) => f.release === release);

/** The API's sentence on two figures, or on the means of two ranges. */
async function sentence(a, b, release) {
  const single = a.windows.length === 1 && b.windows.length === 1;
  const name = (pick) => {
    const figure = figureOf(pick, release);
    const group = figure.id.split("/")[1]; // as ids have it
    return single ? figure.id : `${figure.stream}/${group}/${utc(pick.start)}..${utc(pick.end)}/${release}`;
  };
  try {
    const { verdict, basis, sentence: text } = await ask("compare", { a: name(a), b: name(b) });
    return h("li", { class: verdict }, h("strong", {}, release), ` ${text} `, h("span", { class: "pill" }, (["usual_95", "figures"].includes(basis) && usual[verdict]) || (words[verdict] ?? verdict)));
  } catch (error) {
    return h("li", {}, h("strong", {}, release), ` ${error.message}`);
  }
}
