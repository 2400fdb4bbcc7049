// Applies the colours before anything is painted: those that were chosen, else the system's. The button is in keys.js.
"use strict";
{
  const { dataset } = document.documentElement;
  dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  try {
    const theme = localStorage.getItem("louver-theme");
    if (theme === "light" || theme === "dark") dataset.theme = dataset.chosen = theme;
  } catch { /* storage is off: the system's colours are used */ }
}
