// Package doc has the tables of all reports, and writes them for a terminal and for a page.
//
// In flow: texts in rows. Out flow: columns for a terminal, and a template that pages of html/template include. The
// package knows nothing of what a table shows.
package doc
