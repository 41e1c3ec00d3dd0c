// Package figures makes the measured tables of the manuals from stored records, so that nobody types a figure.
//
// In flow: a file with one [Record] in each line for every [Figure], below reports/measurements/records: one round of
// one cell, with its conditions. Out flow: a table with medians over rounds and their intervals.
//
// `make figures` measures what is missing and appends it to the files. A test of the manuals compares them with what
// the records say. What other processes disturbed stays in the files and is not shown.
package figures
