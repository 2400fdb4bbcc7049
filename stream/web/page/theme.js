// Applies the chosen colours before anything is painted. It runs first and alone; the button is in keys.js.
"use strict";
try {
  const theme = localStorage.getItem("louver-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* storage is off: the system's colours are used */ }
