// Package danger measures how often a pause, or being cut off, makes a lock unsafe: as a curve against its length in
// session timeouts, for each guard and each lock.
//
// In flow: trials, each of them one fault that struck one holder, as the checks of a run judged it, and what the runs
// cost. Out flow: shares with their 95 % intervals, a table, pictures and a page.
package danger
