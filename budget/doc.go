// Package budget keeps the books: what each window was charged, what a stream and a budget have spent, and whether a
// further charge fits under a limit. All of it is a fold over public charges, in decimal arithmetic that rounds up.
// It knows nothing of Kafka and of mechanisms.
package budget
