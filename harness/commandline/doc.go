// Package commandline parses a command line with kong as the rest of locklab reads text: values have the forms that
// they have in a scenario, and what is wrong with one is said in the same words.
//
// In flow: a parser and the arguments of a process. Out flow: the command that they select, or what is wrong with them.
package commandline
