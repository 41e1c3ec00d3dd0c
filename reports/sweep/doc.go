// Package sweep reduces the runs of a grid to numbers and pictures.
//
// In flow: the results of the runs, by point of the grid. Out flow: a [Sweep], which is sweep.json; its pictures and
// page; a table; and what a load between measured ones comes to.
package sweep
