// What only a demo knows: the simulated truth and the incidents. Nobody is behind these numbers.

import { ask } from "./api.js";
import { seconds } from "./streams.js";

export class Truth {
  #windows = new Map(); // by stream and window end
  /** Whether somebody wants to see it. */
  shown = false;

  /** Asks for the newest windows. */
  async load() {
    const { windows } = await ask("demo");
    for (const window of windows) this.#windows.set(`${window.stream}/${seconds(window.window_end)}`, window);
  }

  /** What a plot shows besides the figures. */
  extras() {
    return this.shown ? { truth: (figure) => this.of(figure), incident: (figure) => this.#window(figure)?.incident === figure.group } : {};
  }

  /** The true value of a figure, a share in percent; undefined if it is not known. */
  of(figure) {
    const truth = this.shown ? this.#window(figure)?.truth[`${figure.group}/${figure.release}`] : undefined;
    return truth !== undefined && figure.statistic === "share" ? 100 * truth : truth;
  }

  /** The group of the newest incident; undefined if none is known. */
  incident() {
    return [...this.#windows.values()].findLast((window) => window.incident)?.incident;
  }

  #window(figure) {
    return this.#windows.get(`${figure.stream}/${figure.end}`);
  }
}
