// The detail view: one group of a stream, large, with a table of its windows.

import { parameters, releases, signals } from "./api.js";
import { changed, h, say } from "./dom.js";
import { counts, isWatch, readable } from "./figures.js";
import { capText, clock, groupText, incompleteText, legend, length, plain, reasonText, tooFew, utc } from "./format.js";
import { axisOf, from, isNoise } from "./lines.js";
import { pastOf } from "./past.js";
import { Plot } from "./plot.js";
import { back, choices, query, stretch } from "./range.js";
import { Readout, nameOf } from "./readout.js";
import { detailAddress, groupsAddress, truthOf } from "./router.js";
import { everyOf, lastText, needs, seconds, silenceOf } from "./streams.js";
import { stripHeight } from "./strips.js";
import { Table } from "./table.js";

/**
 * A window and the figures that are shown of it.
 * @typedef {{start: number, end: number, figures: import("./figures.js").Figure[]}} Window
 */

export class Detail {
  #app;
  #route = {};
  #loading = null;
  /** @type {Window[]} */
  #windows = [];
  #cursor = null; // the end of the window below the cursor; null: the newest
  #keyed = false; // the keys put the cursor there: a mouse that rests leaves it, even if the plot moves away below it
  #moved = (event) => {
    if (event.movementX !== 0 || event.movementY !== 0) this.#keyed = false;
  };
  #title = h("h1", {});
  #need = h("span", { class: "pill" });
  #about = h("p", { class: "about" });
  #groups = h("nav", { class: "choice", "aria-label": "Groups" });
  #releases = h("nav", { class: "choice", "aria-label": "Releases" });
  #ranges = h("nav", { class: "choice", "aria-label": "Range" });
  #smoothed = h("a", { class: "button", title: "Estimates from each window and those before it" }, "smoothed");
  #compare = h("button", { type: "button", "aria-pressed": "false", title: "Drag over two ranges of a plot; Shift and drag does the same", onclick: () => this.#comparing(!this.#dragging) }, "compare ranges");
  #dragging = false; // a drag picks a range to compare, and does not zoom
  #csv = h("a", { class: "button", download: true }, "CSV");
  #problem = h("p", { class: "trouble", hidden: true });
  #panel = h("div", { class: "panel plots" });
  #noise = h("div", {});
  #legend = legend();
  #body = h("div", {});
  #view = h("div", { class: "detail waiting" }); // unseen, but with its room taken, until there is something to show
  /** @type {Map<string, Plot>} by release; that of all watches has no name */
  #plots = new Map();
  #lines = [];
  #on;
  #readout = new Readout();
  #heatmap = null; // that of a histogram: loaded with the first one
  #comparison = null; // what windows are picked: loaded with the first pick
  #totals = null; // what totals and users active now are compared with: loaded with the first one
  #shown = [0, 0]; // from when to when
  #table = new Table((window, shift) => this.#pick(window, shift));

  constructor(app, main) {
    this.#app = app;
    this.#body.append(
      h("div", { class: "bar" }, this.#releases, this.#ranges, this.#smoothed, this.#compare, this.#csv),
      this.#panel,
      this.#legend,
      this.#table.element);
    this.#view.append(h("div", { class: "head" }, this.#title, this.#need), this.#about, this.#groups, this.#problem, this.#body);
    this.#panel.append(this.#readout.element, this.#noise);
    main.replaceChildren(this.#view);
    document.addEventListener("pointermove", this.#moved, true);
    this.#on = {
      hover: (at) => this.#keyed || this.#hover(at),
      mouse: () => !this.#keyed,
      pick: (at, shift) => this.#pick(this.#windowAt(at), shift),
      range: (start, end, shift) => {
        if (shift || this.#dragging) this.#pickRange(start, end);
        else location.hash = this.#address({ ...this.#range, from: utc(Math.floor(start)), to: utc(Math.ceil(end)) });
      },
    };
  }

  /** Shows what an address asks for. */
  go(route) {
    const other = route.stream !== this.#route.stream || route.group !== this.#route.group;
    this.#route = route;
    if (other) {
      this.#comparison?.clear();
      this.#comparing(false);
      this.#cursor = null;
      this.#totals = null; // the figures that it has loaded are dropped
    }
    this.#app.figures.holds = (figure) => figure.stream === this.#route.stream && figure.group === this.#group;
    this.#app.figures.trim();
    if (this.#app.loaded) this.load();
  }

  get #stream() {
    return this.#app.streams.find((s) => s.stream === this.#route.stream);
  }

  get #group() {
    return this.#route.group ?? this.#stream?.groups[0] ?? "";
  }

  #address(range, release = this.#route.release, group = this.#group) {
    return detailAddress(this.#route.stream, group, release, range);
  }

  /** What stands behind the ? of the address. */
  get #range() {
    const { from, to, smoothed, a, b } = this.#route;
    return { from, to, smoothed: smoothed ? 1 : undefined, a, b, truth: truthOf(this.#app, this.#route) };
  }

  /** Notes what is compared. */
  #notePicks() {
    Object.assign(this.#route, { a: undefined, b: undefined }, this.#comparison?.address);
    this.remember();
  }

  /** Puts what is shown into the address: a reload and a link show the same. */
  remember() {
    history.replaceState(null, "", this.#address(this.#range));
  }

  /** Loads what compares; null if the server is away. */
  async #comparable() {
    const part = await import("./compare.js").catch((error) => this.#fail(error));
    if (part && !this.#comparison) {
      this.#comparison = new part.Comparison(() => this.#notePicks());
      this.#panel.before(this.#comparison.element);
    }
    return part;
  }

  #fail(error) {
    this.#problem.hidden = false;
    say(this.#problem, error.message);
    return null;
  }

  /** Picks what the address asks to compare. */
  async #restore(until) {
    if (!this.#route.a && !this.#route.b) return;
    const part = await this.#comparable();
    if (!part) return;
    const wanted = part.ranges(this.#route), { a, b } = this.#comparison.address;
    if (wanted.length === 0 || a === this.#route.a && b === this.#route.b) return;
    const from = utc(Math.min(...wanted.map(([start]) => start))), to = utc(Math.max(...wanted.map(([, end]) => end)));
    await releases({ stream: this.#route.stream, group: this.#group, from, to }, (records) => this.#app.figures.merge(records), until);
    this.update();
    if (!until.aborted) this.#comparison.restore(this.#route, windowsOf(this.#lines, -Infinity, Infinity));
  }

  #query() {
    const stream = this.#stream, newest = seconds(stream?.newest_window_end);
    const past = newest === null ? null : pastOf(stream, this.#group, newest);
    return { stream: this.#route.stream, group: this.#group, ...query(this.#route, past, newest, stream ? everyOf(stream) : 0) };
  }

  /** Loads the range. */
  async load() {
    this.#loading?.abort();
    const loading = this.#loading = new AbortController();
    const asked = this.#query(), longest = Math.max(0, ...(this.#stream?.releases ?? []).map((r) => back(`-${r.release.split(".last_")[1]}`) ?? 0));
    let problem = "";
    try { // figures over the newest time begin before the range
      await releases({ ...asked, from: asked.from && utc(seconds(asked.from) - longest) }, (records) => {
        this.#app.figures.merge(records);
        this.update();
      }, loading.signal);
      await this.#restore(loading.signal);
      await this.#compared(loading.signal);
      await signals(asked, this.#app.figures);
      this.update();
    } catch (error) {
      problem = error.message;
    }
    if (loading.signal.aborted) return;
    this.#view.classList.remove("waiting");
    this.#problem.hidden = problem === "";
    say(this.#problem, problem);
  }

  /** Loads figures of earlier days to compare with. */
  async #compared(until) {
    const stream = this.#stream, [start, end] = this.#shown;
    if (end === 0 || !stream?.releases.some((r) => r.total ?? r.active)) return;
    if (!this.#totals) {
      const { Totals } = await import("./totals.js");
      this.#totals ??= new Totals();
    }
    if (await this.#totals.load(stream, this.#group, start, end, (records) => this.#app.figures.merge(records), until)) this.update();
  }

  update() {
    this.#view.classList.remove("waiting");
    const stream = this.#stream, group = this.#group;
    const found = stream !== undefined && has(stream, group);
    this.#body.hidden = !found;
    this.#head(stream, group);
    if (!found) return;
    this.#choose(stream);
    const every = everyOf(stream);
    const lines = stream.releases.map((r, color) => ({ name: r.release, statistic: r.statistic, color: isWatch(r.statistic) ? 4 : color % 6, every, total: r.total, update: (r.total ?? r.active)?.update_seconds, plot: r.total && isQuantile(r) ? `/${r.from}` : r.release, figures: this.#app.figures.of(stream.stream, group, r.release) }))
      .filter((line) => !this.#route.release || line.name === this.#route.release);
    this.#lines = lines;
    const newest = Math.max(...lines.map((line) => line.figures.at(-1)?.end ?? 0));
    const oldest = Math.min(...lines.map((line) => line.figures[0]?.start ?? newest));
    const [start, end] = this.#shown = stretch(this.#route, oldest, newest, every, pastOf(stream, group, newest));
    for (const line of lines) if (line.total) line.before = this.#totals?.line(line, start, end);
    this.#windows = windowsOf(lines, start, end);
    const noise = lines.filter((line) => isNoise(line, start, end));
    const watches = lines.filter((line) => isWatch(line.statistic)), figures = lines.filter((line) => !isWatch(line.statistic) && !noise.includes(line));
    this.#sayNoise(noise, start, end);
    const own = [...Map.groupBy(figures, (line) => line.plot).values()];
    const wanted = [...own.map((lines) => [lines[0].name, lines]), ...(watches.length > 0 ? [["", watches]] : [])];
    for (const [name, plot] of this.#plots) {
      if (wanted.some(([other]) => other === name)) continue;
      plot.remove();
      this.#plots.delete(name);
    }
    this.#panel.style.setProperty("--plots", String(own.length));
    for (const [name, lines] of wanted) this.#draw(name, lines, start, end);
    if (this.#keyed) this.#aim(); // the times may have moved
    this.#readout.show(stream, this.#totals, lines, this.#window, this.#app, this.#cursor !== null);
    this.#heat(stream, group, start, end, newest).catch((error) => this.#fail(error));
    this.#table.show(lines, this.#windows, this.#comparison, this.#app.figures.signals);
    this.#legend.hidden = !this.#windows.some((window) => window.figures.some((figure) => this.#app.figures.signals.has(figure.id)));
    this.#tell();
    this.#smoothed.hidden = !this.#route.smoothed && !lines.some((line) => line.figures.some((figure) => figure.smoothed));
    this.#smoothed.href = this.#address({ ...this.#range, smoothed: this.#route.smoothed ? undefined : 1 });
    this.#smoothed.ariaCurrent = this.#route.smoothed ? "true" : null;
  }

  /** Where all of the range is noise, words stand in place of a plot, with a link to the last value that was more. */
  #sayNoise(lines, start, end) {
    const half = (end - start) / 2, said = lines.map(({ name, color, figures }) => {
      const before = figures.filter((figure) => figure.end <= start), last = before.findLast(readable)?.end;
      return { name, color, last: lastText(before), to: last && this.#address({ ...this.#range, from: utc(Math.floor(last - half)), to: utc(Math.ceil(last + half)) }) };
    });
    if (changed(this.#noise, said)) this.#noise.replaceChildren(...said.map((line) => h("p", { class: "fold" }, nameOf(line), `: ${tooFew} in all of this range`, ...line.to ? [", last ", h("a", { href: line.to }, line.last)] : [])));
  }

  /** Shows the first histogram among the figures, or the one that the address names. */
  async #heat(stream, group, start, end, newest) {
    const { release } = this.#route;
    const named = stream.releases.find((r) => r.release === release);
    const of = stream.releases.find((r) => r.statistic === "histogram" && (!named || r === named || r.release === named.from));
    const quantiles = stream.releases.filter((r) => of && r.from === of.release && isQuantile(r))
      .map((r) => ({ name: r.release, figures: this.#app.figures.of(stream.stream, group, r.release) }));
    if (of && !this.#heatmap) {
      const { Heatmap } = await import("./heatmap.js");
      this.#heatmap ??= new Heatmap();
      this.#table.element.before(this.#heatmap.element);
    }
    await this.#heatmap?.show(stream, group, of, quantiles, start, end, newest);
  }

  tick() {
    this.#sayNeed(this.#stream);
  }

  /** Asks for the signals of a window that came, and what it is compared with. */
  async refresh() {
    await this.#compared();
    await signals({ stream: this.#route.stream, group: this.#group, last: 2 }, this.#app.figures);
  }

  redraw() {
    for (const plot of this.#plots.values()) plot.redraw();
    this.#heatmap?.redraw();
  }

  remove() {
    document.removeEventListener("pointermove", this.#moved, true);
    this.#loading?.abort();
    for (const plot of this.#plots.values()) plot.remove();
    this.#app.figures.holds = () => false;
    this.#app.figures.trim();
  }

  /** Arrows go from window to window; Enter picks one. */
  key(event) {
    const ends = [...new Set(this.#windows.map((window) => window.end))], n = ends.length;
    if (n === 0) return false;
    if (event.key === "Enter") {
      if (event.target.closest?.("a, button, summary")) return false;
      this.#pick(this.#window, event.shiftKey);
      return true;
    }
    const at = ends.indexOf(this.#window.end);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: n - 1 }[event.key];
    if (to === undefined) return false;
    this.#keyed = true;
    this.#point(ends[Math.min(n - 1, Math.max(0, to))]);
    this.#aim();
    return true;
  }

  /** Undoes what was picked; false if nothing was. */
  back() {
    if (!this.#comparison?.picked.length && this.#cursor === null && !this.#dragging) return false;
    this.#comparison?.clear();
    this.#notePicks();
    this.#comparing(false);
    this.#cursor = null;
    this.#aim();
    this.update();
    return true;
  }

  /** The window below the cursor, or the newest one. */
  get #window() {
    return this.#endingAt(this.#cursor);
  }

  /** The shortest window that ends then: roll-ups and the newest time end with it. */
  #endingAt(end) {
    return this.#windows.findLast((window) => window.end === end) ?? this.#windows.at(-1);
  }

  #windowAt(at) {
    return this.#endingAt(this.#windows.find((window) => window.end > at)?.end);
  }

  #hover(at) {
    this.#point(at === null ? null : this.#windowAt(at)?.end ?? null);
  }

  /** Puts the cursor on the window with this end. */
  #point(cursor) {
    if (cursor === this.#cursor) return;
    this.#cursor = cursor;
    this.#readout.show(this.#stream, this.#totals, this.#lines, this.#window, this.#app, cursor !== null);
    this.#tell();
  }

  /** Puts the cursor of each plot there, too. */
  #aim() {
    for (const plot of this.#plots.values()) plot.point(this.#cursor === null ? null : this.#middle(this.#window));
  }

  /** Says at the cursor why a window has a gap or is hatched. */
  #tell() {
    const window = this.#cursor === null ? undefined : this.#window;
    for (const plot of this.#plots.values()) {
      const figures = (window?.figures ?? []).filter((figure) => plot.lines.some((line) => line.name === figure.release));
      const signal = figures.map((figure) => this.#app.figures.signals.get(figure.id)?.sentence).filter(Boolean);
      plot.tell(window ? this.#middle(window) : 0, [trouble(figures), ...signal].filter(Boolean).join(" · "));
    }
  }

  async #pick(window, extend = false) {
    if (!window || !await this.#comparable()) return;
    if (extend) this.#comparison.extend(window, this.#windows);
    else this.#comparison.pick(window);
    this.update();
  }

  /** Picks the windows whose middles lie between two times, or at least one. */
  async #pickRange(start, end) {
    if (!await this.#comparable()) return;
    const windows = this.#windows.filter((window) => this.#middle(window) >= start && this.#middle(window) < end);
    this.#comparison.range(windows.length > 0 ? windows : [this.#windowAt((start + end) / 2)].filter(Boolean));
    this.update();
  }

  #comparing(on) {
    this.#dragging = on;
    this.#compare.setAttribute("aria-pressed", String(on));
    this.#panel.classList.toggle("comparing", on);
  }

  /** The middle of what is drawn of a window. */
  #middle({ start, end }) {
    return (Math.max(start, end - everyOf(this.#stream)) + end) / 2;
  }

  /** Each figure has a plot of its own; all watches have one, and quantiles of the users so far. Times and cursor are the same. */
  #draw(name, lines, start, end) {
    if (!this.#plots.has(name)) {
      const host = h("div", { class: `plot ${name === "" ? "watches" : counts(lines[0].statistic) ? "counts" : "large"}`, role: "img" });
      const others = [...this.#panel.children].slice(1), order = this.#stream.releases.map((r) => r.release);
      const at = (of) => order.indexOf(of); // watches stand above all, at −1
      this.#panel.insertBefore(host, others.find((other) => at(other.dataset.release) > at(name)) ?? this.#noise);
      host.dataset.release = name;
      this.#plots.set(name, new Plot(host, { ...this.#on, rows: name === "" }));
    }
    const plot = this.#plots.get(name), every = everyOf(this.#stream);
    plot.host.setAttribute("aria-label", `${lines.map((line) => line.name).join(", ")} from ${clock(start)} to ${clock(end)}. The table below has the values.`);
    if (plot.rows) plot.host.style.height = `${stripHeight * lines.length + 6}px`;
    const picked = (this.#comparison?.picked ?? []).map(({ windows: [first], end: last }) => [Math.max(first.start, first.end - every), last]);
    plot.show(lines, start, end, axisOf(lines, start, end), { ...this.#app.truth?.extras(), picked, smoothed: this.#route.smoothed, signals: this.#app.figures.signals, silent: seconds(silenceOf(this.#stream, this.#group)?.since) });
  }

  #head(stream, group) {
    this.#title.replaceChildren(this.#route.stream, ...(group === "" ? [] : [h("span", { class: "quiet" }, " / "), groupText(group)]));
    this.#need.hidden = !stream;
    this.#view.classList.toggle("watched", stream?.releases.some((r) => isWatch(r.statistic)) ?? false); // an alarm has its room
    if (!stream) {
      say(this.#about, `There is no stream “${this.#route.stream}”. Press Esc to see all streams.`);
      this.#groups.replaceChildren();
      return;
    }
    const of = /^(sum|count|mean)$/.test(stream.contribution) ? `each user's ${stream.contribution}` : "values";
    const bounds = stream.bounds ? `${of} from ${plain(stream.bounds.lower)} to ${plain(stream.bounds.upper)} ${stream.unit}` : "";
    const about = [stream.description, `a window every ${length(everyOf(stream))}`, bounds, stream.where && `only events with ${stream.where}`, capText(stream)].filter(Boolean).join(" · ");
    const known = has(stream, group), groups = known && !stream.groups.includes(group) ? [group, ...stream.groups] : stream.groups;
    const none = groups.length > 0 ? `There is no group “${group}”. Choose one of these:` : "No group has been found yet.";
    say(this.#about, known ? about : none);
    this.#groups.hidden = groups.length < 2 && known && !stream.discovery;
    links(this.#groups, [...groups.map((g) => [groupText(g), this.#address({ ...this.#range, a: undefined, b: undefined }, this.#route.release, g), g === group]),
      ...(stream.discovery ? [[`all ${stream.discovery.listed.toLocaleString("en")} groups …`, groupsAddress(stream.stream), false]] : [])]);
    this.#sayNeed(stream);
  }

  #sayNeed(stream) {
    if (!stream) return;
    const need = needs(stream, this.#app.figures, this.#group);
    this.#need.className = `pill ${need.kind}`;
    say(this.#need, need.text, need.title ?? "");
  }

  #choose(stream) {
    const { release } = this.#route;
    const names = stream.releases.filter((r) => !isWatch(r.statistic)).map((r) => r.release);
    this.#releases.hidden = names.length < 2;
    links(this.#releases, [["all figures", detailAddress(stream.stream, this.#group, undefined, this.#range), release === undefined],
      ...names.map((name) => [name, this.#address(this.#range, name), name === release])]);
    links(this.#ranges, choices(everyOf(stream)).map(([name, range]) => [name, this.#address({ ...this.#range, from: range, to: undefined }), this.#route.from === range && !this.#route.to]));
    this.#csv.href = `api/v1/releases${parameters({ ...this.#query(), release, format: "csv" })}`;
  }
}

const isQuantile = ({ statistic }) => statistic === "median" || statistic === "quantile";

/** Whether a stream has or had a group. */
const has = (stream, group) => stream.groups.includes(group) || (stream.known?.has(group) ?? false);

/** Fills a bar with links; [text, address, whether it is the one shown]. */
function links(bar, wanted) {
  if (changed(bar, wanted)) bar.replaceChildren(...wanted.map(([text, address, here]) => h("a", { class: "button", href: address, "aria-current": here ? "true" : undefined }, text)));
}

/** Why figures of a window are missing or doubtful, and which on change were drawn in it, or "". */
function trouble(figures) {
  const withheld = figures.filter((figure) => figure.status !== "ok" && figure.reason !== "not_armed");
  const names = withheld.length < figures.length ? ` (${withheld.map((figure) => figure.release).join(", ")})` : "";
  const reasons = [...new Set(withheld.map(reasonText))];
  const drawn = figures.filter((figure) => figure.changed).map((figure) => figure.release);
  return [...reasons.map((reason) => `withheld: ${reason}${names}`), ...(figures.some((figure) => figure.incomplete) ? [incompleteText] : []), ...(drawn.length ? [`drawn anew: ${drawn.join(", ")}`] : [])].join(" · ");
}

/** @returns {Window[]} oldest first */
function windowsOf(lines, start, end) {
  const windows = new Map();
  for (const line of lines) {
    for (const figure of line.figures) {
      if (figure.end <= start || from(line, figure) >= end) continue;
      const key = `${figure.start}–${figure.end}`;
      if (!windows.has(key)) windows.set(key, { start: figure.start, end: figure.end, figures: [] });
      windows.get(key).figures.push(figure);
    }
  }
  return [...windows.values()].sort((a, b) => a.end - b.end || a.start - b.start);
}
