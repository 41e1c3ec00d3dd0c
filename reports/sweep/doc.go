// Package sweep reduces the runs of a grid to numbers, models and pictures.
//
// In flow: the results of the runs, by point of the grid. Out flow: a [Sweep], which is sweep.json, with what the
// models of package capacity predict of each point; its pictures and page; a table; and what another load would come
// to.
package sweep
