// Package budget keeps the accounts: what each window was charged, what a stream and a budget have spent, and whether
// another charge fits under a limit. It computes all of this from public charges, in decimal arithmetic that rounds up.
// It knows neither Kafka nor mechanisms.
//
// Begin with [NewCharge], which sums the promises of a window's releases, and with [NewAccount], which adds up charges
// under a [Limit]. Ask [Account.Fits] before a window is drawn, and call [Account.Add] when it is recorded.
// [Account.Runway] tells in advance whether a schedule can be paid.
//
// Under a limit without δ, the ε of pure mechanisms add up, and no other mechanisms are admitted. With δ > 0 every cost
// also has a price in Rényi divergence of one order, which follows from the limit alone. The sum of these prices counts
// where it is smaller: a day of windows of one minute at ε = 0.1 then costs 11 instead of 144 (see [Limit.Compose]).
// What is charged may depend on data through what was published before: somebody may look at it and then choose what is
// drawn next, and an alarm that fires does so too. The sums hold for all such choices, because the limit does not
// depend on them. The proof is in filter.go.
//
// Two things cost less than one charge for each window. Under a [Cap] nobody counts in all windows, so only the largest
// prices count. A [Held] charge is paid once for a stretch of time, as for an alarm that looks at every window until it
// fires.
//
// Sources: Bun & Steinke 2016 (zCDP); Canonne, Kamath & Steinke 2020 (the conversion to ε and δ); Feldman & Zrnic 2021
// (sums of costs that depend on earlier draws); Dong, Durfee & Rogers 2020 and Cesar & Rogers 2021 (bounded range).
package budget
