// The overview: one row a stream, one small plot a group.

import { now } from "./api.js";
import { h, say } from "./dom.js";
import { clock, errorText, figureText, groupText, length, qualityText, several, span, utc } from "./format.js";
import { fires, isWatch, kept } from "./figures.js";
import { axisOf } from "./lines.js";
import { Plot } from "./plot.js";
import { beginning } from "./range.js";
import { everyOf, mainRelease, needs } from "./streams.js";
import { detailAddress } from "./router.js";

/** With more plots than many they are small, with no more than few they are large. */
const many = 24, few = 6;

export class Overview {
  #app;
  #main;
  #rows = new Map();
  #empty = h("section", { class: "empty" });
  #list = h("div", { class: "streams" });

  constructor(app, main) {
    this.#app = app;
    this.#main = main;
    main.replaceChildren(h("h1", { class: "unseen" }, "Overview"), this.#empty, this.#list);
  }

  /** Shows the streams as they are known now. */
  update() {
    const { streams, find } = this.#app;
    const shown = streams.filter((s) => s.stream.includes(find) || s.description.toLowerCase().includes(find));
    this.#sayEmpty(streams, shown);
    for (const [name, row] of this.#rows) {
      if (!shown.some((s) => s.stream === name)) {
        row.remove();
        this.#rows.delete(name);
      }
    }
    for (const stream of shown) {
      let row = this.#rows.get(stream.stream);
      if (!row) this.#rows.set(stream.stream, row = new Row(this.#app));
      row.stream = stream;
      row.needs = needs(stream, this.#app.figures);
    }
    const cards = shown.reduce((n, stream) => n + stream.groups.length, 0);
    this.#list.className = `streams ${cards > many ? "dense" : cards <= few ? "roomy" : ""}`;
    const order = [...this.#rows.values()].sort((a, b) => a.needs.rank - b.needs.rank || a.stream.stream.localeCompare(b.stream.stream));
    order.forEach((row, i) => {
      if (this.#list.children[i] !== row.element) this.#list.insertBefore(row.element, this.#list.children[i] ?? null);
      row.update();
    });
  }

  /** Ages go on. */
  tick() {
    for (const row of this.#rows.values()) row.tick();
  }

  redraw() {
    for (const row of this.#rows.values()) row.redraw();
  }

  remove() {
    for (const row of this.#rows.values()) row.remove();
  }

  /** Arrows go from card to card. */
  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: "down", ArrowUp: "up" }[event.key];
    if (!step) return false;
    const cards = [...this.#main.querySelectorAll("a.card")];
    if (cards.length === 0) return false;
    const at = cards.indexOf(document.activeElement);
    let to = at + step;
    if (at < 0) to = 0;
    else if (typeof step === "string") to = nextLine(cards, at, step === "down");
    cards[Math.min(cards.length - 1, Math.max(0, to))].focus();
    return true;
  }

  #sayEmpty(streams, shown) {
    this.#empty.hidden = shown.length > 0 || !this.#app.loaded;
    if (this.#empty.hidden) return;
    this.#empty.replaceChildren(...(streams.length > 0
      ? [h("h2", {}, "No stream has that name"), h("p", {}, `There are ${several(streams.length, "stream")}. Press Esc to see them all.`)]
      : [h("h2", {}, "No stream yet"),
        h("p", {}, "A stream appears here once it is in a streams file that this server reads, or once its output topic has a record."),
        h("p", {}, h("code", {}, "louver init streams.yaml"), " writes a draft, ", h("code", {}, "louver check streams.yaml"), " says what it costs, and ", h("code", {}, "louver run"), " starts it.")]));
  }
}

/** The card below or above another one: the nearest in the next line. */
function nextLine(cards, at, down) {
  const places = cards.map((card) => card.getBoundingClientRect());
  const here = places[at];
  let best = at, least = Infinity;
  places.forEach((place, i) => {
    const ahead = down ? place.top - here.top : here.top - place.top;
    if (ahead < 5) return;
    const far = 10 * ahead + Math.abs(place.left - here.left);
    if (far < least) [best, least] = [i, far];
  });
  return best;
}

/** One stream. */
class Row {
  #app;
  #cards = new Map();
  #name = h("a", {});
  #text = h("span", { class: "about" });
  #need = h("span", { class: "pill" });
  #choice = h("div", { class: "choice", role: "group" });
  #grid = h("div", { class: "cards" });
  #release = null;
  element = h("section", { class: "stream" }, h("div", { class: "head" }, h("h2", {}, this.#name), this.#need, this.#text, this.#choice), this.#grid);

  constructor(app) {
    this.#app = app;
  }

  update() {
    const { stream } = this;
    const every = everyOf(stream);
    this.#name.href = detailAddress(stream.stream);
    say(this.#name, stream.stream);
    say(this.#text, [stream.description, `every ${length(every)}`, stream.max_windows ? "about the users who still count" : ""].filter(Boolean).join(" · "));
    say(this.#need, this.needs.text);
    this.#need.className = `pill ${this.needs.kind}`;
    if (!stream.releases.some((r) => r.release === this.#release)) this.#release = mainRelease(stream);
    this.#choose();
    this.#plots(every);
    this.tick();
  }

  tick() {
    for (const card of this.#cards.values()) card.tick();
  }

  redraw() {
    for (const card of this.#cards.values()) card.plot.redraw();
  }

  remove() {
    for (const card of this.#cards.values()) card.plot.remove();
    this.element.remove();
  }

  /** Buttons say which release is shown. */
  #choose() {
    const names = this.stream.releases.filter((r) => !isWatch(r.statistic)).map((r) => r.release);
    if (this.#choice.dataset.names !== names.join()) {
      this.#choice.dataset.names = names.join();
      this.#choice.setAttribute("aria-label", `Release of ${this.stream.stream}`);
      this.#choice.replaceChildren(...names.map((name) => h("button", {
        type: "button",
        onclick: () => {
          this.#release = name;
          this.update();
        },
      }, name)));
      this.#choice.hidden = names.length < 2;
    }
    for (const button of this.#choice.children) button.setAttribute("aria-pressed", String(button.textContent === this.#release));
  }

  /** All plots of a stream have the same axes. */
  #plots(every) {
    const { figures } = this.#app;
    const { stream, groups } = this.stream;
    const at = this.stream.releases.findIndex((r) => r.release === this.#release);
    const { statistic } = this.stream.releases[at] ?? {};
    const lines = groups.map((group) => ({ name: this.#release, statistic, color: Math.max(0, at) % 6, figures: figures.of(stream, group, this.#release).slice(-kept), every }));
    const end = Math.max(...lines.map((line) => line.figures.at(-1)?.end ?? 0)) || now();
    const start = beginning(kept, Math.min(...lines.map((line) => line.figures[0]?.start ?? end)), end, every);
    const axis = axisOf(lines, start, end);
    groups.forEach((group, i) => {
      if (!this.#cards.has(group)) {
        const card = new Card();
        this.#cards.set(group, card);
        this.#grid.append(card.element);
      }
      this.#cards.get(group).show(this.stream, group, this.#release, lines[i], start, end, axis, this.#app);
    });
  }
}

/** One group. */
class Card {
  #group = h("span", { class: "group" });
  #release = h("span", { class: "unseen" });
  #value = h("span", { class: "value" });
  #unit = h("span", { class: "unit" });
  #error = h("span", { class: "error" });
  #quality = h("span", { class: "quality" });
  #age = h("span", { class: "age" });
  #alarm = h("span", { class: "alarm", hidden: true });
  #figure = null;
  #place = h("div", { class: "plot", "aria-hidden": "true" });
  element = h("a", { class: "card" }, h("span", { class: "line" }, this.#group, this.#release, this.#quality), h("span", { class: "figure" }, this.#value, this.#unit, this.#error),
    this.#place, h("span", { class: "line foot" }, this.#age, this.#alarm));
  plot = new Plot(this.#place, { small: true });

  show(stream, group, release, line, start, end, axis, app) {
    const figure = line.figures.at(-1);
    this.#figure = figure;
    this.element.href = detailAddress(stream.stream, group, release);
    say(this.#group, groupText(group));
    say(this.#release, release);
    const alarms = stream.releases.filter((r) => isWatch(r.statistic)).map((r) => app.figures.newest(stream.stream, group, r.release)).filter((f) => f && fires(f));
    say(this.#alarm, alarms.map((f) => `alarm: ${f.release} ${figureText(f).error}`).join(", "));
    this.#alarm.hidden = alarms.length === 0;
    this.plot.show([line], start, end, axis, app.truth.extras());
    if (!figure) {
      say(this.#value, "–");
      say(this.#error, "nothing released yet");
      this.element.className = "card";
      return;
    }
    const text = figureText(figure);
    const kind = figure.status !== "ok" ? "withheld" : figure.quality ?? "unknown";
    this.element.className = `card ${kind}`;
    say(this.#value, text.value, text.exact);
    say(this.#unit, text.unit);
    say(this.#error, text.error, errorText(figure));
    say(this.#quality, [figure.incomplete ? "incomplete" : "", figure.status === "ok" ? qualityText(figure.quality) : ""].filter(Boolean).join(", "));
    this.tick();
  }

  tick() {
    if (this.#figure) say(this.#age, `${span(now() - this.#figure.end)} ago · ${clock(this.#figure.end)}`, utc(this.#figure.end));
  }
}
