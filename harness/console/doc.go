// Package console is what a command reads from and writes to: the streams of its process, the display of a run while it
// lasts, and what people and scripts are told of a run when it is over.
//
// In flow: the progress of a run, its outcome, or the data of a table. Out flow: text, in colour and in place where a
// terminal can show that, or JSON.
package console
