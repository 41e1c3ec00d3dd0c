// Package chart has the style of all pictures: fonts, colours, axes, ticks, legends and labels, and the parts that
// they are put together from: dots, traces, rules and panels.
//
// In flow: plots of gonum.org/v1/plot. Out flow: a [Picture], as PNG and as SVG. The same input always gives the same
// bytes.
package chart
