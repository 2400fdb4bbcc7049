package ledger

import "time"

// forgetEvery is the number of entries between two searches for streams that have ended.
const forgetEvery = 1000

// forgetAfter is how long after its last entry a stream counts as ended. That is judged by when entries were made,
// since windows of streams that catch up may lie far behind those of others.
const forgetAfter = 30 * 24 * time.Hour
