// The budget view: what is spent, what is left and until when, and what one person can lose.

import { ask, now } from "./api.js";
import { h, say } from "./dom.js";
import { clock, several, span, utc } from "./format.js";
import { seconds } from "./streams.js";

/** Into how many parts the strip of coming times is cut. */
const parts = 48;

export class Budget {
  #problem = h("p", { class: "trouble", hidden: true });
  #budgets = h("div", { class: "budgets" });
  #losses = h("div", { class: "losses" });

  constructor(app, main) {
    main.replaceChildren(h("h1", {}, "Budget"),
      h("p", { class: "about" }, "Every figure costs some of a privacy budget, counted in ε. A window that the budget cannot pay for is withheld."),
      this.#problem, this.#budgets, h("h2", { class: "later" }, "What one person can lose"),
      h("p", { class: "about" }, "These are limits, whatever anyone else knows or does with the figures."), this.#losses);
    this.load();
  }

  update() { }

  refresh() {
    return this.load();
  }

  remove() { }

  async load() {
    let problem = "";
    try {
      const [{ budgets, streams }, statement] = await Promise.all([ask("budget"), ask("statement")]);
      this.#budgets.replaceChildren(...budgets.map((budget) => card(budget, streams.filter((s) => s.budget === budget.budget))));
      if (budgets.length === 0) this.#budgets.replaceChildren(h("p", {}, "Nothing has been spent yet."));
      this.#losses.replaceChildren(...statement.streams.map(losses));
      if (statement.streams.length === 0) this.#losses.replaceChildren(h("p", {}, "This server has no streams file, and the records alone do not say it."));
    } catch (error) {
      problem = error.message;
    }
    this.#problem.hidden = problem === "";
    say(this.#problem, problem);
  }
}

function card(budget, streams) {
  const { epsilon_spent: spent, epsilon_limit: limit, per } = budget;
  const share = spent === null ? 1 : Math.min(1, spent / limit);
  const period = per === "forever" ? "in all" : `in any ${per}`;
  const bar = h("div", { class: "bar-of", role: "img", "aria-label": spent === null ? "No ε bounds what is spent." : `ε ${spent} of ${limit} is spent.` }, h("div", { class: "spent" }));
  bar.firstChild.style.width = `${100 * share}%`;
  return h("section", { class: "panel budget" },
    h("h2", {}, budget.budget),
    h("p", { class: "about" }, `ε ${limit} ${period} · ${several(streams.length, "stream")}: ${streams.map((s) => s.stream).join(", ")}`),
    bar,
    h("p", { class: "amounts" }, h("span", {}, spent === null ? "no ε bounds what is spent" : `ε ${spent} spent`), h("span", {}, `ε ${budget.epsilon_left ?? 0} left`)),
    h("p", {}, ...words(budget)),
    per === "forever" ? null : strip(budget));
}

/** How long the budget lasts, in words. */
function words({ per, windows_left: left, exhausted_at: at, exhausted_since: since, returns }) {
  const time = (text) => h("time", { datetime: text, title: utc(seconds(text)) }, clock(seconds(text)));
  const next = returns.find((r) => seconds(r.at) > now());
  const back = next ? [` ε ${next.epsilon} comes back at `, time(next.at), "."] : [];
  if (since) return ["Exhausted since ", time(since), ": windows are withheld.", ...(back.length ? back : per === "forever" ? [" Nothing comes back."] : [])];
  if (at) return [`Pays for ${several(left, "more window")}. On schedule the first one that it cannot pay ends at `, time(at), ".", ...back];
  return ["It pays for every window on schedule: nothing will be withheld.", ...back];
}

/** The coming period: what comes back when, and when nothing can be paid. */
function strip({ per, returns, exhausted_at: at, exhausted_since: since }) {
  const start = now();
  const end = Math.max(start + 60, ...returns.map((r) => seconds(r.at)), at ? seconds(at) : 0);
  const step = (end - start) / parts;
  const back = new Array(parts).fill(0);
  for (const r of returns) {
    const part = Math.floor((seconds(r.at) - start) / step);
    if (part >= 0) back[Math.min(parts - 1, part)] += Number(r.epsilon);
  }
  const most = Math.max(...back, 1e-9);
  const from = since ? start : at ? seconds(at) : Infinity;
  const until = since ? seconds(returns[0]?.at) ?? end : end;
  const cells = back.map((epsilon, i) => {
    const time = start + i * step;
    const empty = time + step > from && time < until;
    const cell = h("div", { class: empty ? "cell empty-cell" : "cell", title: `${clock(Math.round(time))}: ${epsilon > 0 ? `ε ${+epsilon.toFixed(6)} comes back` : "nothing comes back"}${empty ? "; windows are withheld" : ""}` }, h("div", { class: "back" }));
    cell.firstChild.style.height = `${100 * epsilon / most}%`;
    return cell;
  });
  const total = returns.reduce((sum, r) => sum + Number(r.epsilon), 0);
  return h("figure", {}, h("div", { class: "strip", "aria-hidden": "true" }, ...cells),
    h("figcaption", {}, h("span", {}, "now"), h("span", {}, `ε ${+total.toFixed(6)} comes back in the next ${span(end - start)} (period ${per})`), h("span", {}, clock(Math.round(end)))));
}

function losses({ stream, losses: all }) {
  return h("section", { class: "panel" }, h("h2", {}, stream), h("ul", {}, ...all.map((loss) => h("li", {}, loss.sentence))));
}
