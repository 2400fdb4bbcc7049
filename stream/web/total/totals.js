// What a running total is compared with: itself, one period before at the same time.

import { roundedUp, rounded } from "./format.js";

/** The lengths of periods that are nearly always the same, in seconds, and what the one before is called. */
const periods = { hour: [3600, "an hour before"], midnight: [86400, "the day before"], monday: [604800, "the week before"] };

/**
 * Says what the total was one period before, and whether it differs by more than noise explains.
 *
 * If the truth were the same, the difference would be that of two noises. By their laws a total is off by x times its published
 * error with the probability e^(−3x) at most, where it is a single Laplace number, and less where it is a sum of several. The
 * difference of two is beyond 2.5 times the root of the sum of the squared errors in fewer than 1 of 1,000 cases.
 * @param {Object} stream
 * @param {import("./lines.js").Line} line
 * @param {import("./figures.js").Figure} figure
 */
export function beforeText(stream, line, figure) {
  const total = stream.releases.find((r) => r.release === figure.release)?.total;
  const [length, name] = periods[total?.since] ?? [];
  if (!length || figure.status !== "ok") return "";
  const before = line.figures.find((f) => f.end === figure.end - length && f.status === "ok" && f.since !== figure.since);
  if (!before) return "";
  const beyond = Math.abs(figure.value - before.value) > 2.5 * Math.hypot(figure.error_95, before.error_95);
  return `${name} by then ${rounded(before.value, before.error_95)} ± ${roundedUp(before.error_95)}${beyond ? ": noise alone makes such a difference in fewer than 1 of 1,000 cases" : ""}`;
}
