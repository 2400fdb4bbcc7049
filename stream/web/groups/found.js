// Groups that were found, and that no file lists. There may be a thousand of them, so only some have a card; all are in a
// view of their own. A page loads this with the first stream whose groups are found.

import { ask, now } from "./api.js";
import { h, say } from "./dom.js";
import { clock, errorText, figureText, several, span } from "./format.js";
import { detailAddress } from "./router.js";
import { mainRelease, seconds } from "./streams.js";

/**
 * A list as api/v1/groups has it.
 * @typedef {{from?: string, as_of: string|null, listed: number, max: number|null, other: string, groups: Object[]}} List
 */

/** How many groups have a card, beside the one for everybody else and all together: those with the most users. */
export const most = 12;

const known = new Map(); // by stream, what was asked for and when

/** How long a list is taken as it is: until a group is no longer new. In milliseconds. */
const fresh = 10 * 60 * 1000;

/** Gives each stream whose groups are found its list, and those of its groups that have a card. */
export async function learn(streams, figures) {
  if (!document.querySelector("link[href='found.css']")) document.head.append(h("link", { rel: "stylesheet", href: "found.css" }));
  await Promise.all(streams.filter((s) => s.discovery).map(async (s) => {
    const key = `${s.discovery.as_of} ${s.discovery.listed}`, old = known.get(s.stream);
    if (old?.key !== key || Date.now() - old.at > fresh) known.set(s.stream, { key, at: Date.now(), list: await ask("groups", { stream: s.stream }) });
    s.list = known.get(s.stream).list;
    s.known = new Set(s.list.groups.map((g) => g.group));
    const listed = s.list.groups.filter((g) => g.listed).map((g) => g.group), own = listed.filter((g) => g !== s.together);
    s.all = s.list.other ? [s.list.other, ...listed] : listed; // those whose alarms are told
    s.groups = [...(s.list.other ? [s.list.other] : []), ...own.slice(0, most), ...listed.filter((g) => g === s.together)];
  }));
  const carded = new Map(streams.filter((s) => s.discovery).map((s) => [s.stream, s.groups]));
  figures.few = (figure) => carded.has(figure.stream) && !carded.get(figure.stream).includes(figure.group);
}

/**
 * Calls f with queries that together ask for the groups that have a card, of all streams.
 * @param {Object} query
 * @param {(query: Object) => Promise<void>} f
 */
export async function each(streams, query, f) {
  const found = streams.filter((s) => s.discovery), plain = streams.filter((s) => !s.discovery).map((s) => s.stream);
  const queries = found.filter((s) => s.groups.length > 0).map((s) => ({ ...releasesOf(query, [s]), stream: s.stream, group: s.groups }));
  if (found.length === 0) queries.push(query);
  else if (plain.length > 0) queries.push({ ...releasesOf(query, streams.filter((s) => !s.discovery)), stream: plain });
  await Promise.all(queries.filter((q) => q.release?.length !== 0).map(f));
}

/** Leaves only those releases in a query that some of the streams have. */
const releasesOf = (query, streams) => query.release === undefined ? query :
  { ...query, release: query.release.filter((name) => streams.some((s) => s.releases.some((r) => r.release === name))) };

/** The view of a stream's groups: those that have figures, and those that left. */
export class Groups {
  #app;
  #stream = "";
  #rows = new Map(); // by group
  #other = null; // the group for everybody else
  #title = h("h1", {});
  #about = h("p", { class: "about" });
  #find = h("input", { type: "search", placeholder: "Find a group", "aria-label": "Find a group", autocomplete: "off", spellcheck: "false", oninput: () => this.#show() });
  #count = h("span", { class: "quiet", role: "status" });
  #list = h("ul", { class: "found", "aria-label": "Groups, those with the most users first" });

  constructor(app, main) {
    this.#app = app;
    main.replaceChildren(h("div", { class: "groups" }, h("div", { class: "head" }, this.#title), this.#about,
      h("div", { class: "bar" }, this.#find, this.#count), this.#list));
  }

  go(route) {
    if (route.stream === this.#stream) return;
    this.#stream = route.stream;
    this.#find.value = "";
    this.#rows.clear();
    this.#list.replaceChildren();
    this.#title.replaceChildren(h("a", { href: detailAddress(this.#stream) }, this.#stream), h("span", { class: "quiet" }, " / groups"));
  }

  update() {
    const stream = this.#app.streams.find((s) => s.stream === this.#stream);
    if (!stream?.list) {
      say(this.#about, stream ? "The groups of this stream are listed in its file." : `There is no stream “${this.#stream}”. Press Esc to see all streams.`);
      return;
    }
    const { list } = stream;
    const room = list.max === null ? "" : `; at most ${several(list.max, "name")} can be found`;
    const as = list.as_of ? ` as of ${clock(seconds(list.as_of))}` : "";
    const whose = list.from ? `. Stream ${list.from} finds them` : "";
    say(this.#about, `${several(list.listed, "group")} with figures${as}${room}${whose}. A number of users counts each user for a few of their groups only, so it is lower than that of all who were there.`, list.as_of ?? "");
    const release = mainRelease(stream);
    const rows = new Map(), before = this.#rows.size;
    if (list.other) this.#other = this.#other?.group === list.other ? this.#other : { group: list.other, listed: true, rows: [], other: true };
    const order = [...(list.other ? [this.#other] : []), ...list.groups].map((group) => {
      const row = this.#rows.get(group.group) ?? new Row(stream.stream, group.group);
      rows.set(group.group, row);
      row.show(group, this.#app.figures.newest(stream.stream, group.group, release));
      return row.element;
    });
    for (const [name, row] of this.#rows) if (!rows.has(name)) row.element.remove();
    this.#rows = rows;
    order.forEach((element, i) => {
      if (this.#list.children[i] !== element) this.#list.insertBefore(element, this.#list.children[i] ?? null);
    });
    if (rows.size !== before || this.#find.value !== "") this.#show();
  }

  /** Shows the groups whose names have the text. */
  #show() {
    const text = this.#find.value.trim().toLowerCase();
    let shown = 0;
    for (const [name, row] of this.#rows) {
      const hidden = text !== "" && !name.toLowerCase().includes(text);
      if (row.element.hidden !== hidden) row.element.hidden = hidden;
      if (!hidden) shown++;
    }
    say(this.#count, text === "" ? "" : shown === 0 ? "No group has that in its name." : `${several(shown, "group")} of ${this.#rows.size.toLocaleString("en")}`);
  }

  back() {
    if (this.#find.value === "") return false;
    this.#find.value = "";
    this.#show();
    return true;
  }

  remove() { }
}

/** One group. */
class Row {
  #name;
  #mark = h("span", { class: "pill" });
  #users = h("span", { class: "number" });
  #figure = h("span", { class: "number" });
  #when = h("span", { class: "quiet" });
  #shown = {};
  element;

  constructor(stream, group) {
    this.#name = h("a", { href: detailAddress(stream, group), dir: "auto" }, group);
    this.element = h("li", {}, h("span", { class: "name" }, this.#name, " ", this.#mark), this.#users, this.#figure, this.#when);
  }

  show(group, figure) {
    if (this.#shown.group === group && this.#shown.figure === figure) return; // a thousand rows, with every window
    this.#shown = { group, figure };
    const mark = group.other ? "everybody else" : !group.listed ? "left" : group.new ? "new" : group.always ? "always listed" : "";
    say(this.#mark, mark);
    const kind = `pill ${group.new && group.listed ? "good" : "none"}`;
    if (this.#mark.className !== kind) this.#mark.className = kind;
    const gone = group.listed ? "" : "gone";
    if (this.element.className !== gone) this.element.className = gone;
    const users = group.value === null || group.value === undefined ? null : { ...group, status: "ok", statistic: "groups", unit: "users" };
    say(this.#users, users ? `${group.value.toLocaleString("en")} users` : "", users ? errorText(users) : "");
    const text = group.listed && figure ? figureText(figure) : { value: "", unit: "", error: "", exact: "" };
    say(this.#figure, text.value ? `${text.value} ${text.unit} ${text.error}` : "", text.exact);
    const found = group.rows.map((r) => seconds(r.found_at)).sort((a, b) => b - a)[0];
    const until = seconds(group.listed_until);
    const times = [found ? `found ${span(now() - found)} ago` : "", group.listed && until ? `stays until ${clock(until)}` : ""];
    say(this.#when, times.filter(Boolean).join(", "), group.rows.map((r) => `${r.release}: ${r.value} users, ${r.found_at}`).join("\n"));
  }
}
