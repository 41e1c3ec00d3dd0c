// Package words writes numbers as people read them.
//
// In flow: counts and durations. Out flow: words such as "12 updates", "18,204" and "4.2 ms", the same on every page.
package words
