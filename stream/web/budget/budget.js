// The budget view: what one person can have lost, how many of the windows that are paid are used, and until when.

import { ask, now } from "./api.js";
import { h, say } from "./dom.js";
import { isWatch } from "./figures.js";
import { clock, length, lossText, plain, rounded, several, utc } from "./format.js";
import { seconds } from "./streams.js";

/** Into how many parts the strip of coming times is cut. */
const parts = 48;

/** About how many returns are asked for in all: the strips of many budgets are less exact. */
const mostReturns = 30_000;

export class Budget {
  #app;
  #problem = h("p", { class: "trouble", hidden: true });
  #budgets = h("div", { class: "budgets" });
  #stated = "";
  #seconds = 0;
  #losses = h("div", { class: "losses" });

  constructor(app, main) {
    this.#app = app;
    main.replaceChildren(h("link", { rel: "stylesheet", href: "budget.css" }), h("h1", {}, "Budget"),
      h("p", { class: "about" }, "Every figure costs some of a privacy budget, counted in ε. A window that the budget cannot pay for is withheld."),
      this.#problem, this.#budgets, h("h2", { class: "later" }, "What one person can lose"),
      h("p", { class: "about" }, "These are limits, whatever anyone else knows or does with the figures. ",
        h("a", { href: "api/v1/statement" }, "The same in plain words"), "."), this.#losses);
    if (app.loaded) this.load();
  }

  update() { }

  refresh() {
    return this.load();
  }

  /** ε comes back with time alone, and a server may keep an answer for some seconds. */
  tick() {
    this.#seconds++;
    if (this.#seconds % 10 === 0) this.load();
  }

  remove() { }

  async load() {
    let problem = "";
    try {
      const { streams } = this.#app;
      const returns = Math.max(2 * parts, Math.min(1000, Math.floor(mostReturns / (streams.length + 1))));
      const [{ budgets }, statement] = await Promise.all([ask("budget", { only: "budgets", returns }), ask("statement")]);
      this.#budgets.replaceChildren(...budgets.sort(byNeed).map((budget) => card(budget, streams.filter((s) => s.budget === budget.budget))));
      if (budgets.length === 0) this.#budgets.replaceChildren(h("p", {}, "Nothing has been spent yet."));
      this.#state(statement.streams, streams);
    } catch (error) {
      problem = error.status === 0 && this.#stated ? "" : error.message; // the header says that the server is away
    }
    this.#problem.hidden = problem === "";
    say(this.#problem, problem);
  }

  /** Shows what one person can lose. It seldom changes, and what somebody has unfolded stays so. */
  #state(statements, streams) {
    const text = JSON.stringify(statements);
    if (text === this.#stated) return;
    this.#stated = text;
    this.#losses.replaceChildren(...statements.map((s) => {
      const known = streams.find(({ stream }) => stream === s.stream);
      return losses(s, known, streams.filter(({ budget }) => budget === known?.budget).length);
    }));
    if (statements.length === 0) this.#losses.replaceChildren(h("p", {}, "This server has no streams file, and the records alone do not say it."));
  }
}

/** Budgets that withhold windows first, then those that will, then the others. */
function byNeed(a, b) {
  const need = ({ exhausted_since: since, exhausted_at: at }) => since ? 0 : at ? seconds(at) : Infinity;
  const [x, y] = [need(a), need(b)];
  return x === y ? a.budget.localeCompare(b.budget) : x - y;
}

function card(budget, streams) {
  const { epsilon_lost: lost, epsilon_limit: limit, windows_used: used, windows_left: left, windows_of: of, per, partial } = budget;
  // Under a cap there is no number, and records of earlier releases do not say how many are used.
  const countable = left < Number.MAX_SAFE_INTEGER && used + left > 0 && !(partial && used === 0);
  const share = countable ? used / (used + left) : lost === null ? 1 : Math.min(1, lost / limit);
  const paid = countable ? `${plain(used)} of ${several(used + left, "window")}${of ? ` of ${of}` : ""} used` : "";
  const period = per === "forever" ? "in all" : per ? `in any ${per}` : "";
  const bar = h("div", { class: "bar-of", role: "img", "aria-label": paid ? `${paid}.` : lost === null ? "No ε bounds what one person can have lost." : `One person can have lost ε ${lossText(lost, limit)} of ${limit}.` }, h("div", { class: "spent" }));
  bar.firstChild.style.width = `${100 * share}%`;
  return h("section", { class: "panel budget" },
    h("h2", {}, budget.budget, " ", h("span", { class: `pill ${stateOf(budget)[0]}` }, stateOf(budget)[1])),
    h("p", { class: "about" }, `ε ${limit} ${period} · ${several(streams.length, "stream")}: ${streams.map((s) => s.stream).join(", ")}`),
    bar,
    h("p", { class: "amounts" }, h("span", {}, lost === null ? "no ε bounds what one person can have lost" : `one person can have lost ε ${lossText(lost, limit)}`), h("span", {}, paid)),
    h("p", {}, ...words(budget)),
    per === "forever" || budget.partial ? null : strip(budget));
}

/** Whether a budget pays, as a kind of pill and in words. */
function stateOf({ per, exhausted_since: since, exhausted_at: at, windows_left: left, partial }) {
  if (since) return ["warn", "withholds windows"];
  if (at) return ["warn", "will withhold windows"];
  if (partial) return ["none", "older windows are not known here"];
  return ["good", left === 0 && per !== "forever" ? "pays every window, as charges return" : "pays every window"];
}

/** How long the budget lasts, in words. */
function words({ per, delta_limit: delta, windows_left: left, exhausted_at: at, exhausted_since: since, returns, partial }) {
  const time = (text) => h("time", { datetime: text, title: utc(seconds(text)) }, clock(seconds(text)));
  const next = returns.find((r) => seconds(r.at) > now());
  // With a δ, what counts against the limit is more than what anybody has lost.
  const back = next ? [delta > 0 ? " The next charge returns at " : ` ε ${rounded(Number(next.epsilon))} comes back at `, time(next.at), "."] : [];
  if (since) return ["Exhausted since ", time(since), ": windows are withheld.", ...(back.length ? back : per === "forever" ? [" Nothing comes back."] : [])];
  if (at) return [`Pays for ${several(left, "more window")}. On schedule the first one that it cannot pay ends at `, time(at), ".", ...back];
  if (partial && left >= Number.MAX_SAFE_INTEGER) return ["It could pay for any number of windows now."]; // no window costs anything by itself
  if (partial) return [`It could pay for ${several(left, "more window")} now.`];
  return ["It pays for every window on schedule: nothing will be withheld.", ...back];
}

/** The coming period: what comes back when, and when nothing can be paid. */
function strip({ delta_limit: delta, epsilon_spent: spent, returns, exhausted_at: at, exhausted_since: since }) {
  const amount = (epsilon) => delta > 0 ? `${Math.round(100 * epsilon / (spent || 1))} % of what counts` : `ε ${rounded(epsilon)}`;
  const start = now();
  const times = returns.map((r) => seconds(r.at));
  const end = Math.max(start + 60, ...times, at && !since ? seconds(at) : 0);
  // Cells end with `end` and are whole steps of the returns wide, so that regular returns look regular.
  const every = Math.max(1, Math.min(...times.slice(1).map((time, i) => time - times[i]), (end - start) / parts));
  const step = Math.ceil((end - start) / parts / every) * every;
  const back = new Array(Math.ceil((end - start) / step)).fill(0);
  const first = end - step * back.length;
  times.forEach((time, i) => {
    const cell = Math.ceil((time - first) / step) - 1;
    if (cell >= 0 && time > start) back[cell] += Number(returns[i].epsilon);
  });
  const most = Math.max(...back, 1e-9);
  const from = since ? start : at ? seconds(at) : Infinity;
  const until = returns.map((r) => seconds(r.at)).find((time) => time > from) ?? end;
  const cells = back.map((epsilon, i) => {
    const time = Math.max(start, first + i * step);
    const empty = first + (i + 1) * step > from && time < until;
    const cell = h("div", { class: empty ? "cell empty-cell" : "cell", title: `${clock(Math.round(time))}: ${epsilon > 0 ? `${amount(epsilon)} comes back` : "nothing comes back"}${empty ? "; windows are withheld" : ""}` }, h("div", { class: "back" }));
    cell.firstChild.style.height = `${100 * epsilon / most}%`;
    return cell;
  });
  const total = returns.reduce((sum, r) => sum + Number(r.epsilon), 0);
  return h("figure", {}, h("div", { class: "strip", "aria-hidden": "true" }, ...cells),
    h("figcaption", {}, h("span", {}, "now"), h("span", {}, h("span", { class: "key back" }), ` ${amount(total)} comes back by then`,
      ...(from < end ? [" · ", h("span", { class: "key empty-cell" }), " withheld"] : [])), h("span", {}, clock(Math.round(end)))));
}

/** What one person can lose by a stream, and the public choices behind it. */
function losses({ stream, losses: all }, known, shared) {
  const of = (scope) => all.find((loss) => loss.scope === scope);
  const amount = ({ epsilon, delta, epsilon_sum: sum }) => epsilon === null ? "no bounded ε" : `ε ${lossText(epsilon)}${delta ? `, δ ${delta}` : ""}${sum ? ` (ε ${lossText(sum)} without δ)` : ""}`;
  const [window, beside, day] = [of("window"), besides(known, of), of("day")];
  const cap = known?.max_windows;
  // Under a cap, who does not count in a window counts in a later one instead: its ε is that of both.
  const within = cap ? " by what they do in one window, " : beside ? " in the figures of a window, " : " in a window, ";
  return h("section", { class: "panel" }, h("h2", {}, stream),
    window && day ? h("p", { class: "loss" }, "One person loses at most ", h("strong", {}, amount(window)), within, h("strong", {}, amount(day)),
      ` in any 24 h${beside && ` with its ${beside}`}${shared > 1 ? `, in all ${shared} streams of budget ${known.budget} together` : ""}.`,
      cap ? ` One person counts in at most ${several(cap.count, "window")} of any ${cap.per}.` : "") : null,
    h("ul", {}, ...all.filter((loss) => short.includes(loss.scope)).map((loss) => h("li", {}, loss.sentence))),
    h("details", {}, h("summary", {}, "All limits and the public choices behind them"),
      h("ul", {}, ...all.filter((loss) => !short.includes(loss.scope)).map((loss) => h("li", {}, loss.sentence))), ...(known?.declared ? choices(known) : [])));
}

/** What costs ε beside the windows of a stream. */
function besides(stream, of) {
  const has = (is) => stream?.releases.some(is);
  const names = [["watches", stream ? has((r) => isWatch(r.statistic)) : of("watch")], ["figures on change", has((r) => r.on_change)],
    ["running totals", of("total")], ["numbers of active users", of("active")], ["discoveries", of("discovery")]].filter(([, is]) => is).map(([name]) => name);
  return names.join(", ").replace(/, ([^,]*)$/, " and $1");
}

/** The limits that are shown unfolded. */
const short = ["window", "watch", "total", "active", "discovery", "event", "day"];

/** What one person counts with if all their events make it. */
const together = { sum: "the sum of their values", count: "the number of their events", mean: "the mean of their values" };

function choices(stream) {
  const { bounds, window, contribution, groups, max_groups: most, max_windows: cap, expected_users: users, min_users: least } = stream;
  const count = groups.filter((g) => g !== stream.together).length;
  const facts = [
    ["windows", `${length(window.size_seconds)}${window.every_seconds === window.size_seconds ? "" : `, one every ${length(window.every_seconds)}`}, closed ${length(window.grace_seconds)} after their end`],
    ["values", `from ${plain(bounds.lower)} to ${plain(bounds.upper)} ${stream.unit}, in steps of ${plain(bounds.step)}`],
    ["of one person in a window", `${together[contribution] ?? `the ${contribution} value`} counts${count > 1 ? `, in ${several(most, "group")} of ${count}` : ""}`],
    ...(cap ? [[`of one person in any ${cap.per}`, `${several(cap.count, "window")} count`]] : []),
    ...(users ? [["expected users", `${plain(users)} in a window and group`]] : []),
    ...(least ? [["withheld below", `${plain(least.count)} users, as ${least.release} says`]] : []),
  ];
  return [h("dl", {}, ...facts.flatMap(([name, fact]) => [h("dt", {}, name), h("dd", {}, fact)])),
    h("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": `Releases of ${stream.stream}` }, h("table", {}, h("thead", {}, h("tr", {}, ...["figure", "statistic", "mechanism", "ε"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, ...stream.releases.map((r) => h("tr", {}, h("th", { scope: "row" }, r.release), h("td", {}, statisticText(r)), h("td", {}, r.mechanism), h("td", { class: "number" }, String(r.epsilon)))))))];
}

const statisticText = ({ statistic, p, above, below, on_change: change, objective }) =>
  [statistic.replaceAll("_", " "), p === null || statistic === "median" ? "" : String(p), above === null ? "" : `above ${plain(above)}`, below === null ? "" : `below ${plain(below)}`, change ? "on change" : "", objective === undefined ? "" : `objective ${plain(objective)}`].filter(Boolean).join(" ");
