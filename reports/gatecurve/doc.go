// Package gatecurve says how often a gate is right: how many comparisons of the same code it calls a change, and how
// many slow-downs of a known size it calls a regression.
//
// In flow: a file with one [Record] in each line, which has a comparison's answer and its samples. Out flow: a table
// and a picture of the rates with their exact intervals.
//
// `make gate-curve` makes the comparisons and appends them to the file. The samples are kept, so that the statistics of
// package compare can be applied to them again.
package gatecurve
