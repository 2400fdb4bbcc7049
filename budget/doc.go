// Package budget does the accounting: what each window was charged, what a stream and a budget have spent, and whether
// another charge fits under a limit. All of it is a fold over public charges, in decimal arithmetic that rounds up. It
// knows neither Kafka nor mechanisms.
//
// Begin with [NewCharge], which sums the promises of a window's releases, and [NewAccount], which folds charges under a
// [Limit]: [Account.Fits] before a window is drawn, [Account.Add] when it is recorded. [Account.Runway] says
// beforehand whether a schedule can be paid.
//
// Under a limit without δ, the ε of pure mechanisms add up, and nothing else is admitted. With δ > 0 the least of
// several valid sums counts, so that a day of minutes at ε = 0.1 costs 11 instead of 144 (see [Limit.Compose]). Charges
// do not depend on data, nor does the decision what fits; so the sums need no correction for adaptive budgets.
//
// Sources: Bun & Steinke 2016 (zCDP); Canonne, Kamath & Steinke 2020 (its conversion to ε and δ); Dong, Durfee &
// Rogers 2020 and Cesar & Rogers 2021 (bounded range).
package budget
