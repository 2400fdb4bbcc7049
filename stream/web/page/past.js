// The time before a silence: it stays to be seen, however long hardly anybody is there.

import { releases } from "./api.js";
import { utc } from "./format.js";
import { everyOf, seconds, silenceOf } from "./streams.js";

/** How many windows of the time before a silence stay in a plot: at least and at most, and as a part of the silence. */
const least = 20, most = 200, part = 1 / 3;

/**
 * From when on a plot that ends at a time shows a group that is silent: what was before stays to be seen.
 * @returns {number|null} seconds since 1970; null if the group is not silent
 */
export function pastOf(stream, group, end) {
  const silence = silenceOf(stream, group);
  if (!silence) return null;
  const since = seconds(silence.since), every = everyOf(stream);
  return since - Math.max(least * every, Math.min(most * every, part * (end - since)));
}

/** Loads what was before the silences of streams that have one. */
export async function loadPasts(streams, take) {
  await Promise.all(streams.filter((s) => s.silent_groups.length > 0).map((s) => {
    const groups = s.silent_groups.map((g) => g.group).filter((g) => s.groups.includes(g));
    if (groups.length === 0) return null;
    const from = Math.min(...groups.map((g) => pastOf(s, g, seconds(s.newest_window_end))));
    const to = Math.max(...groups.map((g) => seconds(silenceOf(s, g).since)));
    return releases({ stream: s.stream, group: groups, from: utc(from), to: utc(to) }, take);
  }));
}
