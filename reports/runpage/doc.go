// Package runpage draws the pictures of one run and writes report.html around them.
//
// In flow: a judged run and its result. Out flow: dir/plots and dir/report.html, one file that needs nothing but
// itself.
package runpage
