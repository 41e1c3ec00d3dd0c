// Package export writes a run in formats that other programs read.
//
// In flow: a judged run, or the progress of one that lasts. Out flow: text in one of the [Formats]. A name in a history
// may be anybody's, so no format lets it become more than a name.
package export
