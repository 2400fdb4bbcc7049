// Package attendance remembers who has counted. Under max_windows, and in running totals, who counts in a window
// depends on the windows before it. So trackers go through the windows of a stream one after another: a [Cap] for each
// lane with max_windows, and an [Ongoing] for each running total and number of active users. It has no Kafka, no clock
// and no log.
//
// Everything here follows from the parts of decided windows. A session learns it from the last snapshots, and from the
// parts of the windows since then, which go through the trackers once more. These parts are not deleted. After a crash
// the next session does just that, so the same users count:
//
//   - A snapshot is committed by the worker that has decided its windows. A fenced worker commits none.
//   - It is committed before the parts that it replaces count as not needed.
//   - It is used only if it is of the same rule, of a decided window and of the same era or instance. Any other is left
//     out, and the session looks for parts.
//   - A session that records which parts it does not need also records up to which window it needs none
//     ([Attendance.Saved]). If the last snapshot is lost, some of the parts of a window may be gone and others not, and
//     the log cannot tell. So a session that knows less than that record starts over.
//
// If something of this is lost, nobody knows who has counted, and guessing could let somebody count too often. So there
// is one rule: the tracker is reset, and what begins in its place is charged separately. That is so for parts that are
// gone or unreadable, for snapshots that are missing, and for a window that is still not ready when a later one is.
package attendance
