// The page: it loads what is known, listens to what comes, and shows the view that the address asks for.

import { ask, newest, now, releases, signals } from "./api.js";
import { h, say } from "./dom.js";
import { Figures, kept } from "./figures.js";
import { clock, several, span, times, tooFew, utc, zone } from "./format.js";
import { control } from "./keys.js";
import { listen } from "./live.js";
import { Overview } from "./overview.js";
import { loadPasts, pastOf } from "./past.js";
import { route } from "./router.js";
import { everyOf, mainRelease, needs, seconds, silenceOf } from "./streams.js";

const element = (id) => document.getElementById(id);

/** From when to when the figures of a group that is silent are of the time before. */
function past({ stream, group }) {
  const of = app.streams.find((s) => s.stream === stream), silence = of && silenceOf(of, group);
  return silence ? [pastOf(of, group, seconds(of.newest_window_end)), seconds(silence.since)] : null;
}

/** What all views know. */
const app = {
  figures: new Figures(),
  streams: [],
  reading: { ok: true, since: null },
  truth: null, // what only a demo knows
  find: "",
  show: new Map(), // which figure of a stream the overview shows, if not the main one
  /** Shows another figure of a stream, and asks what is said of it. */
  choose(stream, release) {
    app.show.set(stream, release);
    remember();
    learn({ last: kept, release: [release] }).then(update, () => { }); // the live connection says that the server is away
  },
  loaded: false,
};

const views = { overview: Overview };
/** Views that are loaded when somebody wants to see them. */
const later = { detail: "Detail", budget: "Budget" };
app.figures.past = past;
let view = null, shown = "";

/** Shows the view that the address asks for. */
function go() {
  const to = route();
  if (later[to.view] && !views[to.view]) {
    add(to.view);
    if (view) return; // that stays until the other one has come
  }
  if (!views[to.view]) to.view = "overview";
  const Kind = views[to.view];
  if (!(view instanceof Kind)) {
    view?.remove();
    view = new Kind(app, element("main"));
    for (const [id, name] of [["to-overview", "overview"], ["to-budget", "budget"], ["to-demo", "demo"]]) {
      if (to.view === name) element(id).setAttribute("aria-current", "page");
      else element(id).removeAttribute("aria-current");
    }
    if (shown !== "") {
      window.scrollTo(0, 0);
      if (document.activeElement !== element("find")) element("main").focus({ preventScroll: true }); // who types goes on
    }
    shown = to.view;
  }
  view.go?.(to);
  remember();
  if (app.loaded) view.update();
}

/** Puts what is shown into the address, unless it asks for a view that is still to come. */
function remember() {
  const Kind = views[route().view];
  if (Kind && view instanceof Kind) view.remember?.();
}

let asked = false;
/** Updates the view before the next frame: many figures come at once. */
function update() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    if (app.loaded) view.update();
    app.first?.update();
    state();
  });
}

let failed = null; // why the figures could not be loaded
let lost = false;

/**
 * Loads what the page shows. At first these are the newest figures, which are few, then the past of the releases that stand
 * for a stream, then all. After a connection was lost this is what may have been missed.
 */
async function load() {
  element("main").ariaBusy = "true";
  const { truth } = route(), box = element("truth");
  const take = (records) => {
    app.figures.merge(records);
    update();
  };
  try {
    if (!app.loaded) {
      await Promise.all([loadStreams(), newest(take)]);
      app.loaded = true;
      if (route().view === "groups") go();
      if (!element("to-demo").hidden) await demonstrate();
      if (truth && box.checked !== (truth === "1")) box.click();
      update();
      await Promise.all([view.load?.(), each({ last: kept, release: main() }, (query) => releases(query, take))]);
      await Promise.all([each({ last: kept }, (query) => releases(query, take)), newest(take, true), loadPasts(app.streams, take)]);
      await learn({ last: kept, release: main() });
      if (!views.detail) await add("detail"); // it opens even if the server is away by then
    } else {
      await loadStreams();
      await Promise.all([each({ last: kept }, (query) => releases(query, take)), newest(take, true), view.load?.()]);
    }
    failed = null;
    lost = false;
    element("main").ariaBusy = "false";
  } catch (error) {
    failed = error.message;
  }
  update();
}

let found = null; // what found groups need, once there are some
/** Asks for groups that have a card. */
const each = (query, f) => query.release?.length === 0 ? null : found ? found.each(app.streams, query, f) : f(query);

/** Asks what is said of figures. */
const learn = (query) => each(query, (query) => signals(query, app.figures));

/** The releases that the overview shows. */
const main = () => [...new Set([...app.streams.map(mainRelease), ...app.show.values()])];

async function loadStreams() {
  const { streams, reading, demo } = await ask("streams");
  if (streams.some((s) => s.discovery)) {
    found ??= await import("./found.js");
    views.groups = found.Groups;
    await found.learn(streams, app.figures);
  }
  app.streams = streams;
  app.reading = reading;
  times.exact = streams.some((s) => everyOf(s) % 60 !== 0 || s.window.size_seconds % 60 !== 0);
  element("truth-label").hidden = element("to-demo").hidden = !demo;
}

/** Loads a view, and shows it if it is still wanted. */
async function add(name) {
  try {
    views[name] = (await import(`./${name}.js`))[later[name]];
    if (route().view === name) go();
  } catch (error) {
    failed = error.message;
    update();
  }
}

/** Adds what only a demo has. */
async function demonstrate() {
  later.demo = "Demo";
  await add("demo");
  app.first = new (await import("./first.js")).First(app);
  await app.first.load();
}

let soon = null;
/** Asks for the streams again, some time after a window came: when the next one is due has changed. */
function refresh() {
  soon ??= setTimeout(async () => {
    soon = null;
    try {
      await Promise.all([loadStreams(), learn({ last: 2, release: main() }), app.truth?.shown ? app.truth.load() : null, view.refresh?.()]);
      update();
    } catch { /* the live connection says that the server is away */ }
  }, 1000);
}

/** The header's line: how many streams, the newest window, and whether all is well. */
function state() {
  const newest = Math.max(...app.streams.map((s) => seconds(s.newest_window_end) ?? 0), 0);
  const needy = app.streams.map((s) => needs(s, app.figures).what).filter(Boolean), bad = needy.length;
  const kinds = ["alarm", "incomplete", "silent", "withheld", "late", "changed"].filter((what) => needy.includes(what)).map((what) => `${needy.filter((w) => w === what).length} ${what}`);
  const parts = [];
  if (app.loaded) {
    parts.push(several(app.streams.length, "stream"));
    if (app.streams.length > 0) parts.push(bad === 0 ? "nothing needs a look" : `${bad === 1 ? "1 needs" : `${bad} need`} a look: ${kinds.join(", ")}`);
    const groups = app.streams.flatMap((s) => s.groups.filter((g) => g !== s.together).map((g) => app.figures.newest(s.stream, g, mainRelease(s)))).filter(Boolean);
    const noise = groups.filter((f) => f.quality === "noise").length;
    if (noise > 0) parts.push(`${noise} of ${several(groups.length, "group")}: ${tooFew}`);
    parts.push(`times in ${zone()}`);
    // The age stands last: it may grow wider without a gap before what follows.
    if (newest > 0) parts.push(`newest window ended at ${clock(newest)}, ${span(now() - newest).replace(" ", "\u00a0")}\u00a0ago`);
  }
  const title = bad === 0 ? "Louver" : `${kinds.join(", ")} · Louver`; // who works in another tab sees what needs a look
  if (app.loaded && document.title !== title) document.title = title;
  if (parts.length > 0) tell(element("state"), parts.join(" · "), newest > 0 ? utc(newest) : "");
  let trouble = "";
  if (failed) trouble = failed;
  else if (lost) trouble = "The connection is lost. The page tries again by itself.";
  else if (!app.reading.ok) trouble = app.reading.since ? `Kafka has not answered since ${clock(seconds(app.reading.since))}.` : "Kafka does not answer.";
  if (trouble && newest > 0) trouble += ` The newest figures are those of ${clock(newest)}.`;
  element("trouble").hidden = trouble === "";
  say(element("trouble"), trouble);
  announce(bad);
}

/** Says how long ago something was in a room of its own: the line does not break elsewhere when the number grows. */
function tell(line, text, title) {
  if (line.textContent !== text) line.replaceChildren(...text.split(/(\d+\u00a0\w+\u00a0ago)/).map((part, i) => i % 2 ? h("span", { class: "ago" }, part) : part));
  line.title = title;
}

let announced = 0;
/** Screen readers hear of changes of state, not of each window. */
function announce(bad) {
  if (!app.loaded || bad === announced) return;
  announced = bad;
  say(element("announce"), bad === 0 ? "Nothing needs a look any more." : `${several(bad, "stream")} ${bad === 1 ? "needs" : "need"} a look.`);
}

control({
  key: (event) => view.key?.(event) ?? false,
  back: () => {
    if (!view.back?.() && route().view !== "overview") location.hash = "#/";
  },
  find: (text) => {
    app.find = text;
    if (text && route().view !== "overview") location.hash = "#/";
    else remember();
    update();
  },
  theme: () => {
    view.redraw?.();
    app.first?.redraw();
  },
});

element("truth").addEventListener("change", async (event) => {
  app.truth ??= new (await import("./truth.js")).Truth();
  app.truth.shown = event.target.checked;
  remember();
  if (app.truth.shown) await app.truth.load();
  update();
});

window.addEventListener("hashchange", go);
go();
listen({
  open: load,
  release: (record) => {
    app.figures.merge([record]);
    const stream = app.streams.find((s) => s.stream === record.stream);
    if (stream && !(seconds(stream.newest_window_end) >= seconds(record.window_end))) stream.newest_window_end = record.window_end;
    refresh();
    update();
  },
  reading: (reading) => {
    app.reading = reading;
    update();
  },
  lost: () => {
    lost = true;
    if (!app.loaded && !failed) load();
    update();
  },
});
setInterval(() => {
  if (!app.loaded) return;
  view.tick?.();
  state();
}, 1000);
