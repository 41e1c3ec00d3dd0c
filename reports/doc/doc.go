// Package doc has the tables and the longer texts of all reports, and writes tables for a terminal and for a page.
//
// In flow: texts in rows, and templates of texts. Out flow: columns for a terminal, a template that pages of
// html/template include, and lines. The package knows nothing of what a table shows or a text says.
package doc
