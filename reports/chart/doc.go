// Package chart has the style of all pictures: fonts, colours, axes, ticks, legends and labels.
//
// In flow: plots of gonum.org/v1/plot. Out flow: a [Picture], as PNG and as SVG. The same input always gives the same
// bytes.
package chart
