package doc

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Template defines the template "table", which shows a [Table]. On a phone, each row of a wide one is a card.
//
//go:embed table.html.tmpl
var Template string

// A Table has a caption and a header for every column. Each row begins with its own header, unless that is a number.
type Table struct {
	Caption string
	Columns []Column
	Rows    [][]Cell
}

// Label is the first sentence of the caption.
func (t *Table) Label() string {
	label, _, _ := strings.Cut(t.Caption, ". ")
	return label
}

// A Column is the header of a column.
type Column struct {
	Name  string
	Right bool // it has numbers
}

// A Cell is a text, and the class that says how a page shows it.
type Cell struct{ Text, Class string }

// NewTable returns a table with columns of these names. Those that begin with "#" have numbers.
func NewTable(caption string, names ...string) *Table {
	t := &Table{Caption: caption}
	for _, n := range names {
		name, right := strings.CutPrefix(n, "#")
		t.Columns = append(t.Columns, Column{Name: name, Right: right})
	}
	return t
}

// Numbers are the names of columns that have numbers.
func Numbers(names ...string) []string {
	all := slices.Clone(names)
	for i := range all {
		all[i] = "#" + all[i]
	}
	return all
}

// Add adds a row and returns it, so that the classes of its cells can be set.
func (t *Table) Add(row ...string) []Cell {
	var cells []Cell
	for i, text := range row {
		c := Cell{Text: text}
		if t.Columns[i].Right {
			c.Class = "n"
		}
		cells = append(cells, c)
	}
	t.Rows = append(t.Rows, cells)
	return cells
}

// Text writes an empty line and the table for a terminal. If all columns have numbers, they are aligned at the right.
func (t *Table) Text(w io.Writer) error {
	flags, end := uint(0), "\n"
	if !slices.ContainsFunc(t.Columns, func(c Column) bool { return !c.Right }) {
		flags, end = tabwriter.AlignRight, "\t\n"
	}
	tab := tabwriter.NewWriter(w, 0, 4, 2, ' ', flags)
	var head []string
	for _, c := range t.Columns {
		head = append(head, c.Name)
	}
	fmt.Fprint(tab, "\n", strings.Join(head, "\t"), end)
	for _, row := range t.Rows {
		var texts []string
		for _, c := range row {
			texts = append(texts, c.Text)
		}
		fmt.Fprint(tab, strings.Join(texts, "\t"), end)
	}
	return tab.Flush()
}
