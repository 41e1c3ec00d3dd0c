// Package index writes the page that leads to the runs of a demonstration, a sweep, a benchmark or any other folder of
// runs.
//
// In flow: the results of the runs below a folder. Out flow: the folder's index.html, which refers to nothing but the
// reports of its runs.
package index
