// Addresses of the views: they stand behind the #, so that a link shows the same to a colleague.

import { parameters } from "./api.js";

/**
 * The view that the address asks for.
 * @returns {{view: "overview"|"detail"|"groups"|"budget"|"demo"}} with what else the address says
 */
export function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...names] = path.split("/").map(decoded);
  const asked = new URLSearchParams(query), { from, to, a, b, truth, find } = Object.fromEntries(asked);
  if (view === "budget" || view === "demo") return { view };
  if (view === "g" && names[0]) return { view: "groups", stream: names[0] };
  if (view !== "s" || !names[0]) return { view: "overview", truth, find, show: asked.getAll("show") };
  return { view: "detail", stream: names[0], group: names[1], release: names[2] || undefined, from, to, smoothed: asked.has("smoothed"), a, b, truth };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand
  }
}

/** The address of a detail view. */
export function detailAddress(stream, group, release, range = {}) {
  const names = [stream, group, release].filter((name, i, all) => name !== undefined && (name !== "" || all[i + 1] !== undefined));
  return `#/s/${names.map(encodeURIComponent).join("/")}${parameters(range)}`;
}

/** What the address has of the simulated truth: whether it is shown, once a demo knows it. */
export const truthOf = (app, { truth }) => app.truth ? Number(app.truth.shown) : truth;

/** The address of found groups. */
export const groupsAddress = (stream) => `#/g/${encodeURIComponent(stream)}`;
