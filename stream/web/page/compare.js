// Two windows side by side: is the difference more than noise?

import { ask } from "./api.js";
import { h } from "./dom.js";
import { windowText } from "./format.js";

const words = { noise: "within the noise", change: "more than noise", unknown: "cannot be told" };

export class Comparison {
  /** @type {import("./detail.js").Window[]} at most two */
  picked = [];
  #asked = 0;
  element = h("section", { class: "comparison", "aria-live": "polite", hidden: true });

  /** Picks a window, or takes it back. A third one begins anew. */
  pick(window) {
    const at = this.picked.findIndex((p) => p.start === window.start && p.end === window.end);
    if (at >= 0) this.picked.splice(at, 1);
    else if (this.picked.length === 2) this.picked = [window];
    else this.picked = [...this.picked, window].sort((a, b) => a.end - b.end);
    this.#show();
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
      this.element.replaceChildren(h("p", {}, a ? `A is ${windowText(a)}. Pick another window to compare it with; Esc ends this.` : ""));
      return;
    }
    const found = a.figures.map((figure) => [figure, b.figures.find((other) => other.release === figure.release)]).filter(([, other]) => other);
    const sentences = await Promise.all(found.map(([figure, other]) => sentence(figure, other)));
    if (asked !== this.#asked) return;
    this.element.replaceChildren(h("h2", {}, `A ${windowText(a)}, then B ${windowText(b)}`), h("ul", {}, ...sentences));
  }
}

/** The API's sentence on two figures. */
async function sentence(a, b) {
  try {
    const { verdict, sentence: text } = await ask("compare", { a: a.id, b: b.id });
    return h("li", { class: verdict }, h("strong", {}, a.release), ` ${text} `, h("span", { class: "pill" }, words[verdict] ?? verdict));
  } catch (error) {
    return h("li", {}, h("strong", {}, a.release), ` ${error.message}`);
  }
}
