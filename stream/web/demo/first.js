// What a demo shows first: one sentence and one picture, above the overview.

import { ask, pace, releases } from "./api.js";
import { Figures } from "./figures.js";
import { h, say } from "./dom.js";
import { groupText, length, plain } from "./format.js";
import { axisOf } from "./lines.js";
import { Plot } from "./plot.js";
import { detailAddress, route } from "./router.js";
import { everyOf, mainRelease } from "./streams.js";

/** How much time the picture shows, in seconds. */
const shown = 86400;

/** Whether the reader wants to see the truth: at first, and until it is switched off. */
const kept = "louver-demo-truth";

export class First {
  #app;
  #windows = new Map(); // those of a day, by their ends
  #group = null;
  #of = null; // the stream
  #what = h("p", { class: "about" });
  #place = h("div", { class: "plot", "aria-hidden": "true" });
  #plot = new Plot(this.#place, { pick: () => { location.hash = detailAddress(this.#of.stream, this.#group, mainRelease(this.#of)); } });
  #window = h("strong", {});
  #day = h("strong", {});
  #time = h("p", { class: "about" });
  #element = h("section", { class: "panel first", "aria-labelledby": "first" }, h("h2", { id: "first" }, "Dots: what is true. The line: what everybody may see."),
    h("div", {}, this.#what, this.#place),
    h("div", {}, h("p", { class: "odds" }, "Of 100 guesses whether you were there, at most ", this.#window, " are right."),
      h("p", {}, "A coin gets 50. That holds for each window, whoever guesses and whatever else they know. Whoever guesses from all figures of 24 hours gets at most ", this.#day, "."),
      h("p", {}, h("a", { href: "#/demo" }, "Try it: what ε does")), this.#time));

  constructor(app) {
    this.#app = app;
    document.getElementById("main").before(h("link", { rel: "stylesheet", href: "demo.css" }), this.#element);
    const truth = document.getElementById("truth");
    if (localStorage.getItem(kept) !== "off") truth.click();
    truth.addEventListener("change", () => localStorage.setItem(kept, truth.checked ? "on" : "off"));
    window.addEventListener("hashchange", () => this.#appear());
    this.#appear();
  }

  /** Asks for what the picture shows: about the group that had the last incident. */
  async load() {
    const { stream, windows, speed, users, window_right_of_100: right, budget_right_of_100: day } = await ask("demo");
    pace(0);
    say(this.#window, plain(right));
    say(this.#day, plain(day));
    this.#of = this.#app.streams.find((s) => s.stream === stream);
    say(this.#time, `${plain(users)} simulated users. By the demo's clock a day takes ${length(86400 / speed)}.`);
    await this.#look(windows.findLast((w) => w.incident)?.incident ?? this.#of.groups[0]);
  }

  /** Shows the figures of a group. */
  async #look(group) {
    this.#group = group;
    say(this.#what, `${this.#of.description}, in ${groupText(this.#group)}: the median of each ${length(everyOf(this.#of))}, for 24 h`);
    this.#windows.clear();
    await releases({ stream: this.#of.stream, group, release: mainRelease(this.#of), last: Math.ceil(shown / everyOf(this.#of)) }, (records) => {
      if (group === this.#group) this.#take(new Figures().merge(records));
    });
  }

  /** Shows the windows as they are known now. */
  update() {
    if (!this.#of || this.#element.hidden) return;
    const slow = this.#app.truth?.incident();
    if (slow && slow !== this.#group) this.#look(slow).catch(() => { }); // the header says that the server is away
    this.#take(this.#app.figures.of(this.#of.stream, this.#group, mainRelease(this.#of)));
    const figures = [...this.#windows.values()].sort((a, b) => a.end - b.end);
    if (figures.length === 0) return;
    const { end } = figures.at(-1), start = end - shown;
    const lines = [{ name: "published", statistic: "", color: 0, figures, every: everyOf(this.#of) }];
    this.#plot.show(lines, start, end, axisOf(lines, start, end), this.#app.truth?.extras() ?? {});
  }

  #take(figures) {
    for (const figure of figures) this.#windows.set(figure.end, figure);
    const newest = Math.max(...this.#windows.keys());
    for (const end of this.#windows.keys()) if (end <= newest - shown) this.#windows.delete(end);
  }

  redraw() {
    this.#plot.redraw();
  }

  #appear() {
    this.#element.hidden = route().view !== "overview";
    this.update();
  }
}
