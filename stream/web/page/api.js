// The HTTP API. Addresses are relative: there may be a base path.

let told = Date.now(), heard = told, speed = 1; // what time the server said it was, and when

/** The server's time, in seconds since 1970: ages do not depend on the reader's clock. */
export const now = () => (told + (Date.now() - heard) * speed) / 1000;

/** How fast it goes on. A demo's stands until it asks for streams again. */
export const pace = (times) => { speed = times; };

/** The fields of a record that the page uses. */
export const fields = "id,stream,group,release,window_start,window_end,incomplete,statistic,p,unit,value,status,reason,epsilon,error_95,low,high,level,basis,quality,users,p_low,p_high,smoothed,since,changed,excess_95,clip,outside_95,cut_95,final,active";

/** An answer that is no figure: `message` is a sentence for people. */
class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Asks for api/v1/PATH.
 * @param {string} path
 * @param {Object<string, string|number|undefined>} [query]
 */
export async function ask(path, query = {}) {
  const address = `api/v1/${path}${parameters(query)}`;
  let answer;
  try {
    answer = await fetch(address);
  } catch {
    throw new Refusal(0, "The server cannot be reached.");
  }
  const date = Date.parse(answer.headers.get("Date") ?? "");
  if (Number.isFinite(date) && (speed || path === "streams")) [told, heard] = [date + 500, Date.now()]; // the header has whole seconds
  const type = answer.headers.get("Content-Type") ?? "";
  if (!type.includes("json")) {
    throw new Refusal(answer.status, `${new URL(address, location.href)} is not Louver's API (status ${answer.status}). Behind a proxy, open the page under LOUVER_HTTP_BASE_PATH, with a / at the end.`);
  }
  const body = await answer.json();
  if (!answer.ok) throw new Refusal(answer.status, body.detail ?? body.title ?? `Status ${answer.status}.`);
  return body;
}

/** The part of an address behind the path. A list is a parameter that is given several times. */
export function parameters(query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

/** Asks for the newest record of each series, or for the newest that is more than noise. */
export const newest = async (take, readable) => take((await ask("releases/latest", { fields, readable })).releases);

/**
 * Asks which figures begin to differ from those before by more than noise and the usual variation explain.
 * @param {Object} query
 * @param {import("./figures.js").Figures} figures
 */
export async function signals(query, figures) {
  figures.hear(await ask("signals", query));
}

/**
 * Asks for records, page after page.
 * @param {Object} query as api/v1/releases takes it
 * @param {(records: Object[]) => void} take gets each page
 * @param {AbortSignal} [until]
 */
export async function releases(query, take, until) {
  let cursor;
  do {
    const page = await ask("releases", { ...query, fields, limit: 10000, cursor });
    if (until?.aborted) return;
    take(page.releases);
    cursor = page.next ?? undefined;
  } while (cursor);
}
