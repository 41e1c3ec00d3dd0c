// Package untrusted handles files and names that somebody else may have made.
//
// In flow: the path of a file or a directory, or text from one. Out flow: the content of a regular file of a sensible
// size, and text that is safe to show on a terminal, in a report, or in a line of a format that others parse.
package untrusted
