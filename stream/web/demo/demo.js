// What only a demo can show: the same windows drawn again with another ε, and a guess at who was there. Nobody is behind these numbers.

import { ask } from "./api.js";
import { h, say } from "./dom.js";
import { errorText, figureText, groupText, plain, windowText } from "./format.js";
import { Plot } from "./plot.js";

export class Demo {
  #app;
  #known = null;
  #release = "";
  #asked = 0;
  #answers = null; // of the ε that is chosen
  #question = null; // what was counted in the window in question
  #said = { right: 0, all: 0 }; // the reader's guesses with the ε that is chosen
  #choice = h("div", { class: "choice", role: "group", "aria-label": "Release" });
  #slider = h("input", { type: "range", id: "epsilon", min: 0, step: 1, oninput: () => this.#draw() });
  #epsilon = h("output", { for: "epsilon" });
  #odds = h("p", { class: "odds" });
  #people = h("div", { class: "people", "aria-hidden": "true" }, ...Array.from({ length: 100 }, () => h("i", {})));
  #tried = h("div", { class: "cards tried" });
  #cards = new Map();
  #asking = h("p", {});
  #yes = h("button", { type: "button", disabled: true, onclick: () => this.#guess(true) }, "Yes");
  #no = h("button", { type: "button", disabled: true, onclick: () => this.#guess(false) }, "No");
  #answer = h("p", { "aria-live": "polite" });
  #best = new Score("Whoever guesses best");
  #own = new Score("You");
  #bound = h("p", { class: "about" });

  constructor(app, main) {
    this.#app = app;
    main.replaceChildren(h("h1", {}, "What ε does"),
      h("p", { class: "about" }, "These users are simulated. So this page may know the truth (the dots), and draw the same windows again with another ε. With real people that would give them away, and Louver never does it. A band holds 95 of 100 such draws. That of a median or quantile in a record is about twice as wide: it follows from the published values alone."),
      h("section", { class: "panel tries" }, h("div", {}, h("div", { class: "head" }, h("label", { for: "epsilon" }, "ε"), this.#epsilon, this.#choice), this.#slider, this.#odds), this.#people),
      this.#tried,
      h("section", { class: "panel guess" }, h("h2", {}, "Was Robin there?"), this.#asking, h("p", {}, this.#yes, " ", this.#no), this.#answer,
        h("div", { class: "scores" }, ...this.#best.parts, ...this.#own.parts), this.#bound));
    if (app.loaded) this.load().catch(() => { }); // the header says that the server is away
  }

  update() { }

  /** Asks what the demo knows, and for the figures again: a window may have come. */
  async load() {
    this.#known = await ask("demo");
    const { epsilons, releases } = this.#known;
    if (this.#release === "") {
      this.#release = releases[0];
      this.#slider.max = epsilons.length - 1;
      this.#slider.value = Math.max(0, epsilons.indexOf(0.1));
      this.#choice.replaceChildren(...releases.map((name) => h("button", { type: "button", onclick: () => {
        this.#release = name;
        this.#draw();
      } }, name)));
    }
    return this.#draw();
  }

  refresh() {
    return this.load();
  }

  redraw() {
    for (const { plot } of this.#cards.values()) plot.redraw();
  }

  remove() {
    for (const { plot } of this.#cards.values()) plot.remove();
  }

  #draw() {
    return this.#known && this.#redraw().catch(() => { });
  }

  async #redraw() {
    const asked = ++this.#asked, epsilon = this.#known.epsilons[this.#slider.value];
    say(this.#epsilon, String(epsilon));
    this.#slider.setAttribute("aria-valuetext", `ε ${epsilon}`);
    for (const button of this.#choice.children) button.setAttribute("aria-pressed", String(button.textContent === this.#release));
    const answer = await ask("demo/redraw", { release: this.#release, epsilon });
    if (asked !== this.#asked) return;
    this.#guesses(answer);
    say(this.#odds, `Of 100 guesses whether one person is in a window, at most ${answer.right_of_100} are right. A coin gets 50.`);
    [...this.#people.children].forEach((one, i) => one.classList.toggle("right", i < Math.ceil(answer.right_of_100)));
    const figures = answer.figures.map((f) => ({ ...f, start: Date.parse(f.window_start) / 1000, end: Date.parse(f.window_end) / 1000, status: "ok",
      release: answer.release, unit: answer.unit, level: 0.95, basis: "interval", quality: f.quality === "noise" ? "rough" : f.quality || "useful", noise: f.quality === "noise" }));
    for (const group of new Set(figures.map((f) => f.group))) {
      if (!this.#cards.has(group)) {
        const card = new Card(group);
        this.#cards.set(group, card);
        this.#tried.append(card.element);
      }
      this.#cards.get(group).show(figures.filter((f) => f.group === group));
    }
  }

  /** Shows how often guesses are right with this ε. A question stays until it is answered. */
  #guesses(answer) {
    const { epsilon, guesses, right_of_100: most } = answer;
    if (this.#answers?.epsilon !== epsilon) {
      this.#said = { right: 0, all: 0 };
      this.#question = null;
      say(this.#answer, "");
    }
    this.#answers = answer;
    this.#best.show(guesses.filter((g) => (g.count > g.others) === g.called).length, guesses.length, most);
    this.#own.show(this.#said.right, this.#said.all, most);
    say(this.#bound, `The line is the bound: with ε ${epsilon} at most ${most} of 100 guesses are right, in the long run, even of somebody who knows everyone else. Whoever guesses best says yes if the count is above the number of all others.`);
    if (!this.#question) this.#ask(guesses.at(-1));
  }

  #ask(guess) {
    if (!guess) return;
    this.#question = guess;
    this.#asking.replaceChildren(`A coin decided whether Robin, one of thousands in eu, called in the window ${windowText({ start: Date.parse(guess.window_start) / 1000, end: Date.parse(guess.window_end) / 1000 })}. You know all others: `,
      h("strong", {}, plain(guess.others)), " of them called. The count with this ε says ", h("strong", {}, plain(guess.count)), ". Did Robin call?");
    this.#yes.disabled = this.#no.disabled = false;
  }

  #guess(yes) {
    const { called } = this.#question, right = called === yes, said = this.#said;
    said.all++;
    if (right) said.right++;
    say(this.#answer, `${right ? "Right" : "Wrong"}: Robin ${called ? "called" : "did not call"}.`);
    this.#own.show(said.right, said.all, this.#answers.right_of_100);
    const { guesses } = this.#answers, next = guesses.at(-1);
    this.#ask(next.window_end === this.#question.window_end ? guesses[Math.floor(Math.random() * guesses.length)] : next);
  }
}

/** How many guesses are right, beside the bound. */
class Score {
  #bar = h("i", {});
  #bound = h("b", {});
  #text = h("span", {});
  parts;

  constructor(who) {
    this.parts = [h("span", {}, who), h("span", { class: "score", "aria-hidden": "true" }, this.#bar, this.#bound), this.#text];
  }

  show(right, all, most) {
    this.#bar.style.width = `${all > 0 ? 100 * right / all : 0}%`;
    this.#bound.style.left = `${most}%`;
    say(this.#text, all > 0 ? `${right} of ${all} right` : "no guess yet");
  }
}

/** The figures of one group. */
class Card {
  #value = h("span", { class: "value" });
  #error = h("span", { class: "error" });
  #truth = h("span", { class: "quality" });
  #most = h("span", { class: "scale most" });
  #least = h("span", { class: "scale least" });
  #place = h("div", { class: "plot", "aria-hidden": "true" }, this.#most, this.#least);
  plot = new Plot(this.#place, { small: true });

  constructor(group) {
    this.plot.gutter = 45;
    this.element = h("div", { class: "card" }, h("span", { class: "line" }, h("span", { class: "group" }, groupText(group)), this.#truth),
      h("span", { class: "figure" }, this.#value, this.#error), this.#place);
  }

  /** Shows figures on an axis that depends on the truth alone, so that it is the same for every ε. */
  show(figures) {
    const newest = figures.at(-1), text = figureText(newest), truths = figures.map((f) => f.truth);
    const axis = [Math.floor(Math.min(...truths) / 2), Math.ceil(Math.max(...truths) * 1.5)];
    this.element.classList.toggle("noise", newest.noise);
    say(this.#value, newest.noise ? "too noisy to read" : text.value, text.exact);
    say(this.#error, `${newest.noise ? text.value : ""} ${text.unit} ${text.error}`, errorText(newest));
    say(this.#truth, `truth ${plain(newest.truth)}`);
    say(this.#least, plain(axis[0]));
    say(this.#most, plain(axis[1]));
    this.plot.show([{ name: newest.release, statistic: "", color: 0, figures, every: null }], figures[0].start, newest.end, axis, { truth: (f) => f.truth });
  }
}
