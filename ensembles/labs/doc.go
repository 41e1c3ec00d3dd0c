// Package labs has the table of the kinds of labs, and chooses one.
//
// In flow: the name of a kind, or [ensembles.LabAuto], and the hosts of a lab. Out flow: a lab of that kind.
package labs
