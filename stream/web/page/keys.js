// The keyboard, and the buttons of the header.

import { h, say } from "./dom.js";
import { route } from "./router.js";

const keys = [
  ["← →", "overview: from plot to plot; detail: from window to window"],
  ["↑ ↓", "overview: from line to line"],
  ["Home End", "detail: the oldest and the newest window"],
  ["Enter", "open a plot; in the detail view pick a window to compare, with Shift up to it"],
  ["Esc", "undo what was picked, then go back"],
  ["/", "find a stream"],
  ["b", "budget"],
  ["?", "these keys"],
];

const themes = { auto: "◐", light: "☀", dark: "☾" };

/**
 * Listens to keys and to the header.
 * @param {Object} on
 * @param {(event: KeyboardEvent) => boolean} on.key the view's own keys; true: done
 * @param {() => void} on.back
 * @param {(text: string) => void} on.find
 * @param {() => void} on.theme the colours have changed
 */
export function control(on) {
  const find = document.getElementById("find"), dialog = document.getElementById("keys");
  dialog.append(h("h2", { id: "keys-title" }, "Keys"),
    h("dl", {}, ...keys.flatMap(([key, does]) => [h("dt", {}, ...key.split(" ").map((k) => h("kbd", {}, k))), h("dd", {}, does)])),
    h("form", { method: "dialog" }, h("button", { autofocus: true }, "Close")));
  document.getElementById("help").addEventListener("click", () => dialog.showModal());
  find.addEventListener("input", () => on.find(find.value.trim().toLowerCase()));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
    const typing = event.target === find;
    if (event.key === "Escape") {
      if (find.value !== "" && (typing || route().view === "overview")) {
        find.value = "";
        on.find("");
      } else if (!typing) on.back(event);
      if (typing) find.blur();
    } else if (typing) {
      if (event.key === "Enter" || event.key === "ArrowDown") document.querySelector("a.card")?.focus();
    } else if (event.key === "/") {
      event.preventDefault();
      find.focus();
    } else if (event.key === "?") dialog.showModal();
    else if (event.key === "b") location.hash = "#/budget";
    else if (!event.target.closest?.("input, select, textarea") && on.key(event)) event.preventDefault();
  });
  themeButton(on.theme);
}

/** The button goes from the system's colours to light to dark. At first theme.js applies them. */
function themeButton(changed) {
  const button = document.getElementById("theme"), root = document.documentElement.dataset, system = matchMedia("(prefers-color-scheme: dark)");
  const show = () => {
    const theme = root.chosen ?? "auto";
    root.theme = root.chosen ?? (system.matches ? "dark" : "light");
    say(button, themes[theme]);
    button.setAttribute("aria-label", `Colours: ${theme}`);
  };
  const apply = () => {
    show();
    changed();
  };
  button.addEventListener("click", () => {
    const next = { auto: "light", light: "dark" }[root.chosen ?? "auto"] ?? "auto";
    if (next === "auto") delete root.chosen;
    else root.chosen = next;
    try {
      localStorage.setItem("louver-theme", next);
    } catch { /* storage is off: the choice lasts until the page is closed */ }
    apply();
  });
  system.addEventListener("change", apply);
  show();
}
