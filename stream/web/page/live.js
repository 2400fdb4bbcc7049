// Figures as they come.

/** How long the page may have been asleep before the connection is made anew. Timers of hidden pages run once a minute. */
const asleep = 150_000;
const retry = 3000;

/**
 * Listens for ever: the browser reconnects by itself, and a connection that a server or proxy refused is opened again.
 * @param {Object} on
 * @param {() => void} on.open after each connection: load what may have been missed
 * @param {(record: Object) => void} on.release
 * @param {(reading: {ok: boolean, since: string|null}) => void} on.reading
 * @param {() => void} on.lost
 */
export function listen(on) {
  let source, timer, tick = Date.now();
  const open = () => {
    clearTimeout(timer);
    source?.close();
    source = new EventSource("api/v1/releases/live");
    source.addEventListener("open", on.open);
    source.addEventListener("reset", on.open);
    source.addEventListener("release", (event) => on.release(JSON.parse(event.data)));
    source.addEventListener("reading", (event) => on.reading(JSON.parse(event.data)));
    source.addEventListener("error", () => {
      on.lost();
      if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, retry);
    });
  };
  setInterval(() => {
    if (Date.now() - tick > asleep) open();
    tick = Date.now();
  }, 5000);
  // A browser may keep a page that was left, with its connection, and has only six for a server.
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => event.persisted && open());
  open();
}
