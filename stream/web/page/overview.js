// The overview: one row a stream, one small plot a group.

import { now, parameters } from "./api.js";
import { changed, h, say } from "./dom.js";
import { clock, errorText, figureText, groupText, legend, length, noiseText, rounded, several, span, tooFew, utc } from "./format.js";
import { alarmed, isWatch, kept, readable } from "./figures.js";
import { axisOf, isNoise } from "./lines.js";
import { pastOf } from "./past.js";
import { Plot } from "./plot.js";
import { beginning } from "./range.js";
import { alarmText, everyOf, groupsOf, lastText, mainRelease, needs, remedyOf, remedyText, seconds, silenceOf, stateOf } from "./streams.js";
import { detailAddress, groupsAddress, route, truthOf } from "./router.js";

/** With more plots than many the cards are narrow, with no more than few they are roomy. */
const many = 24, few = 6;

/** How high plots are at least, in pixels: they fill the room that the window has. How high at most, in their widths. */
const low = { dense: 40, roomy: 96, "": 64 }, high = 1.4;

/** How wide a card is at least where several streams stand side by side, in pixels, and how many count of those of a stream. */
const wide = { dense: 185, roomy: 260, "": 260 }, abreast = 3;

/** On a phone the plots keep the height that the style sheet gives them. */
const phone = window.matchMedia("(max-width: 560px)");

export class Overview {
  #app;
  #main;
  #rows = new Map();
  #empty = h("section", { class: "empty" });
  #list = h("div", { class: "streams" });
  #legend = legend();

  constructor(app, main) {
    this.#app = app;
    this.#main = main;
    main.replaceChildren(h("h1", { class: "unseen" }, "Overview"), this.#empty, this.#list, this.#legend);
    window.addEventListener("resize", this.#resized);
  }

  /** Takes the filter and the figures that the address asks for; one without them changes nothing. */
  go({ find, show = [] }) {
    if (find !== undefined) document.getElementById("find").value = this.#app.find = find.toLowerCase();
    for (const one of show) this.#app.show.set(...one.split("/"));
  }

  /** Puts what is shown into the address: a reload and a link show the same. */
  remember() {
    const { find, show } = this.#app;
    history.replaceState(null, "", `#/${parameters({ find: find || undefined, show: [...show].map((one) => one.join("/")), truth: truthOf(this.#app, route()) })}`);
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
      if (!row) this.#rows.set(stream.stream, row = new Row(this.#app, () => this.#sayMarks()));
      row.stream = stream;
      row.needs = needs(stream, this.#app.figures);
    }
    const order = [...this.#rows.values()].sort((a, b) => a.needs.rank - b.needs.rank || a.stream.stream.localeCompare(b.stream.stream, "en", { numeric: true }));
    order.forEach((row, i) => {
      if (this.#list.children[i] !== row.element) this.#list.insertBefore(row.element, this.#list.children[i] ?? null);
      row.update();
    });
    const cards = order.reduce((n, row) => n + row.cards, 0);
    this.#size = cards > many ? "dense" : cards <= few ? "roomy" : "";
    this.#list.className = `streams ${this.#size}`;
    this.#sayMarks();
    this.#fit();
  }

  #sayMarks() {
    this.#legend.hidden = ![...this.#rows.values()].some((row) => row.marked);
  }

  #resized = () => this.#fit();
  #size = "";
  #fitted = "";

  /** Makes the plots as high as the window has room for. */
  #fit() {
    const cards = [...this.#list.querySelectorAll(".card:not([hidden])")];
    const key = [this.#size, window.innerWidth, window.innerHeight, cards.length, this.#rows.size, this.#list.offsetTop, this.#legend.offsetHeight, phone.matches].join();
    if (cards.length === 0 || key === this.#fitted) return;
    this.#fitted = key;
    const set = (name, value) => this.#list.style.setProperty(name, value);
    const rows = this.#rows.size, most = Math.min(abreast, Math.max(...[...this.#rows.values()].map((row) => row.cards)));
    const room = Math.max(1, Math.min(rows, Math.floor(this.#list.clientWidth / (most * wide[this.#size]))));
    const free = () => window.innerHeight - document.body.getBoundingClientRect().bottom - window.scrollY;
    set("--plot", `${low[this.#size]}px`);
    for (let across = 1; across === 1 || across <= room && free() < 0; across++) { // as few side by side as fit
      set("--across", String(Math.ceil(rows / Math.ceil(rows / across)))); // lines of equal length
    }
    if (phone.matches) return this.#list.style.removeProperty("--plot");
    const lines = new Map(); // how many lines of cards lie below each other, by the top of their stream
    for (const row of this.#rows.values()) {
      const top = row.element.offsetTop;
      lines.set(top, Math.max(lines.get(top) ?? 0, new Set([...row.element.querySelectorAll(".card:not([hidden])")].map((card) => card.offsetTop)).size));
    }
    const all = [...lines.values()].reduce((a, b) => a + b, 0);
    const { clientWidth: width, clientHeight: height } = cards[0].querySelector(".plot");
    set("--plot", `${Math.floor(Math.max(low[this.#size], Math.min(high * width, height + free() / all)))}px`);
  }

  /** Ages go on. */
  tick() {
    for (const row of this.#rows.values()) row.tick();
  }

  redraw() {
    for (const row of this.#rows.values()) row.redraw();
  }

  remove() {
    window.removeEventListener("resize", this.#resized);
    for (const row of this.#rows.values()) row.remove();
  }

  /** Arrows go from card to card. */
  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: "down", ArrowUp: "up" }[event.key];
    if (!step) return false;
    const cards = [...this.#main.querySelectorAll("a.card:not([hidden])")];
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
  #all = h("a", { class: "all", hidden: true });
  #grid = h("div", { class: "cards" });
  #fold = h("p", { class: "fold", hidden: true });
  #release = null;
  element = h("section", { class: "stream" }, h("div", { class: "head" }, h("h2", {}, this.#name), this.#need, this.#text, this.#all, this.#choice), this.#grid, this.#fold);
  /** How many groups have a card. */
  cards = 0;
  /** Whether a plot has a mark. */
  marked = false;

  #shown;

  /** @param {() => void} shown is called when another release is shown */
  constructor(app, shown) {
    this.#app = app;
    this.#shown = shown;
  }

  update() {
    const { stream } = this;
    const every = everyOf(stream);
    this.#name.href = detailAddress(stream.stream);
    say(this.#name, stream.stream);
    say(this.#text, [stream.description, `every ${length(every)}`, stream.max_windows ? "about the users who still count" : ""].filter(Boolean).join(" · "));
    this.#all.hidden = !stream.discovery;
    if (stream.discovery) {
      this.#all.href = groupsAddress(stream.stream);
      say(this.#all, stream.discovery.listed === 0 ? "no group found yet" : `all ${several(stream.discovery.listed, "group")}`);
    }
    const chosen = this.#app.show.get(stream.stream);
    this.#release = stream.releases.some((r) => r.release === chosen) ? chosen : mainRelease(stream);
    this.#choose();
    this.#plots(every);
    this.tick();
  }

  /** Time alone makes a stream late. */
  tick() {
    const { kind, text, title } = needs(this.stream, this.#app.figures);
    say(this.#need, text, title ?? text);
    this.#need.className = `pill ${kind}`;
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
    if (changed(this.#choice, names)) {
      this.#choice.setAttribute("aria-label", `Release of ${this.stream.stream}`);
      this.#choice.replaceChildren(...names.map((name) => h("button", {
        type: "button",
        onclick: () => {
          this.#app.choose(this.stream.stream, name);
          this.update();
          this.#shown();
        },
      }, name)));
      this.#choice.hidden = names.length < 2;
    }
    for (const button of this.#choice.children) button.setAttribute("aria-pressed", String(button.textContent === this.#release));
  }

  /** All plots of a stream have the same axes, as far as that shows something. */
  #plots(every) {
    const { figures } = this.#app;
    const { stream } = this.stream, groups = groupsOf(this.stream, figures, this.#release);
    const at = this.stream.releases.findIndex((r) => r.release === this.#release);
    const { statistic, total, active } = this.stream.releases[at] ?? {};
    const lines = groups.map((group) => ({ name: this.#release, statistic, color: Math.max(0, at) % 6, figures: figures.of(stream, group, this.#release).slice(silenceOf(this.stream, group) ? 0 : -kept), every, update: (total ?? active)?.update_seconds }));
    const end = Math.max(...lines.map((line) => line.figures.at(-1)?.end ?? 0)) || now();
    const oldest = Math.min(...lines.map((line) => line.figures[0]?.start ?? end));
    const pasts = groups.map((group) => pastOf(this.stream, group, end)).filter((past) => past !== null);
    const start = Math.min(beginning(kept, oldest, end, every), Math.max(oldest, Math.min(...pasts)));
    const shared = axisOf(lines, start, end), own = lines.map((line) => axisOf([line], start, end));
    // If one group would press most others flat, each has a scale of its own.
    const apart = 2 * own.filter(([low, high]) => high - low < (shared[1] - shared[0]) / 5).length > lines.length;
    for (const [group, card] of this.#cards) { // found groups come and go
      if (groups.includes(group)) continue;
      card.plot.remove();
      card.element.remove();
      this.#cards.delete(group);
    }
    groups.forEach((group, i) => {
      if (!this.#cards.has(group)) {
        const card = new Card();
        this.#cards.set(group, card);
        this.#grid.append(card.element);
      }
      this.#cards.get(group).show(this.stream, group, this.#release, lines[i], start, end, apart ? own[i] : shared, this.#app);
    });
    this.marked = lines.some((line) => line.figures.some((figure) => figures.signals.has(figure.id)));
    this.#foldNoise(groups, lines, start, end);
  }

  /** Groups of which no figure can be read fold into a line. */
  #foldNoise(groups, lines, start, end) {
    const { stream, together } = this.stream;
    const folded = groups.filter((group, i) => isNoise(lines[i], start, end) && !this.#cards.get(group).alarmed && !silenceOf(this.stream, group));
    for (const [group, card] of this.#cards) card.element.hidden = folded.includes(group);
    this.cards = groups.length - folded.length;
    const helps = remedyText(...folded.map((group) => remedyOf(this.stream, { group, release: this.#release })));
    const names = folded.map((group) => [group, lastText(this.#app.figures.of(stream, group, this.#release))]);
    if (!changed(this.#fold, [this.#release, helps, names])) return;
    this.#fold.hidden = folded.length === 0;
    this.#grid.hidden = this.cards === 0;
    const own = (all) => all.filter((group) => group !== together).length; // all together is no group
    this.#fold.replaceChildren(h("strong", {}, `${own(folded) ? `${own(folded)} of ${several(own(groups), "group")}: ` : ""}${tooFew}`), helps ? ` (${helps}): ` : ": ",
      ...names.flatMap(([group, last], i) => [i > 0 ? ", " : "", h("a", { href: detailAddress(stream, group, this.#release), title: last }, groupText(group)), last && names.length < 3 ? ` ${last}` : ""]));
  }
}

/** One group. */
class Card {
  #group = h("span", { class: "group" });
  #release = h("span", { class: "unseen" });
  #value = h("span", { class: "value" });
  #unit = h("span", { class: "unit" });
  #error = h("span", { class: "error" });
  #state = h("span", { class: "said" });
  #begin = h("span", { class: "age begin" });
  #age = h("span", { class: "age" });
  #alarm = h("span", { class: "alarm", hidden: true });
  #figure = null;
  #most = h("span", { class: "scale most" });
  #least = h("span", { class: "scale least" });
  #place = h("div", { class: "plot", "aria-hidden": "true" }, this.#most, this.#least);
  element = h("a", { class: "card" }, h("span", { class: "line" }, this.#group, this.#release, this.#state), h("span", { class: "figure" }, this.#value, this.#unit, this.#error),
    this.#alarm, this.#place, h("span", { class: "line foot" }, this.#begin, this.#age));
  /** Whether a watch has fired for this group. */
  alarmed = false;
  plot = new Plot(this.#place, { small: true });

  show(stream, group, release, line, start, end, axis, app) {
    const figure = line.figures.at(-1);
    this.#figure = figure;
    this.element.href = detailAddress(stream.stream, group, release);
    say(this.#group, groupText(group));
    say(this.#release, release);
    const alarms = stream.releases.filter((r) => isWatch(r.statistic)).map((r) => app.figures.newest(stream.stream, group, r.release)).filter((f) => f && alarmed(f));
    const told = alarms.length > 0 ? `alarm: ${alarmText(stream, alarms)}` : "";
    say(this.#alarm, told, told);
    this.alarmed = alarms.length > 0;
    this.#alarm.hidden = !stream.releases.some((r) => isWatch(r.statistic)); // else its line is there, so that an alarm moves nothing
    const drawn = line.figures.some(readable);
    const room = 3 * 10 ** Math.floor(Math.log10((axis[1] - axis[0]) / 20)); // one digit of it
    const [least, most] = drawn ? axis.map((value) => rounded(value, room).replace(/\.0+$/, "")) : ["", ""];
    say(this.#most, most);
    say(this.#least, least);
    this.plot.gutter = least ? 7 * Math.max(least.length, most.length) + 5 : 0;
    this.element.style.setProperty("--gutter", `${this.plot.gutter}px`);
    say(this.#begin, figure ? clock(start) : "", figure ? utc(start) : "");
    this.plot.show([line], start, end, axis, { ...app.truth?.extras(), signals: app.figures.signals, silent: seconds(silenceOf(stream, group)?.since) });
    if (!figure) {
      say(this.#value, "–");
      say(this.#error, "nothing released yet");
      this.element.className = "card nothing";
      return;
    }
    const text = figureText(figure);
    const state = stateOf(stream, line.figures, app.figures), unread = ["silent", "few", "withheld"].includes(state.kind);
    this.element.className = `card ${state.kind}`;
    let said = [text.value, text.exact, text.unit, text.error, errorText(figure)];
    if (state.kind === "silent") said = [state.text, state.title, "", "", ""];
    if (state.kind === "few") {
      const helps = remedyText(remedyOf(stream, figure));
      said = [figure.status === "ok" ? noiseText(figure) : state.text, text.exact, "", lastText(app.figures.of(stream.stream, group, release)) || helps, [helps, errorText(figure)].filter(Boolean).join("; ")];
    }
    const [value, exact, unit, error, sure] = said;
    say(this.#value, value, exact);
    say(this.#unit, unit);
    say(this.#error, error, sure);
    say(this.#state, [figure.incomplete ? "incomplete" : "", unread ? "" : state.text].filter(Boolean).join(", "), state.title);
    this.tick();
  }

  tick() {
    if (this.#figure) say(this.#age, `${span(now() - this.#figure.end)} ago · ${clock(this.#figure.end)}`, utc(this.#figure.end));
  }
}
