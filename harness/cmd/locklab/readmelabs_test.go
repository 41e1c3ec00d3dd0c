package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"locklab/chaos"
	"locklab/ensembles/kubernetes"
	"locklab/ensembles/labs"
	"locklab/ensembles/remote"
)

// The manual says which faults work in which kind of lab, by what the kinds declare that they lack and what each
// example of a fault needs.
func TestReadmeListsTheFaultsOfLabs(t *testing.T) {
	columns := []column{}
	head, rule := "| fault |", "|---|"
	for _, k := range labs.Kinds() {
		columns = append(columns, column{"`" + k.Name() + "`", func(f chaos.Fault) (why, condition string) {
			for _, name := range f.Capabilities() {
				why = cmp.Or(why, k.Lacks()[name])
			}
			if k.Name() == (kubernetes.Kind{}).Name() && f.Kind == "upgrade" {
				why = kubernetes.OneVersion // Open refuses it
			}
			return why, ""
		}})
	}
	columns = append(columns, column{"`--connect`", func(f chaos.Fault) (why, condition string) {
		if why = f.Elsewhere(remote.Words()); why == "" && f.Elsewhere(nil) != "" {
			condition = ", if all servers allow `" + chaos.KindOf(f.Kind).Word + "`"
		}
		return why, condition
	}})
	for _, c := range columns {
		head, rule = head+" "+c.name+" |", rule+"---|"
	}
	reasons := map[string][]string{} // by column
	var want strings.Builder
	fmt.Fprintf(&want, "%s the machine needs |\n%s---|\n", head, rule)
	for _, k := range chaos.Kinds() {
		trials, err := k.Trials()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "| `%s` |", k.Name)
		var needs []string
		for _, f := range trials {
			for _, name := range f.Capabilities() {
				if name = "`" + name + "`"; !slices.Contains(needs, name) {
					needs = append(needs, name)
				}
			}
		}
		for _, c := range columns {
			cell, why := c.cell(k.Examples, trials)
			fmt.Fprintf(&want, " %s |", cell)
			for _, w := range why {
				if !slices.Contains(reasons[c.name], w) {
					reasons[c.name] = append(reasons[c.name], w)
				}
			}
		}
		fmt.Fprintf(&want, " %s |\n", strings.Join(needs, ", "))
	}
	for _, c := range columns {
		if len(reasons[c.name]) > 0 {
			fmt.Fprintf(&want, "\nWhy not with %s: %s.\n", c.name, strings.Join(reasons[c.name], "; or "))
		}
	}
	inManual(t, "ensembles/README.md", "faults by lab", want.String())
}

// A column says of a fault why it is refused, or on which condition it is not.
type column struct {
	name  string
	judge func(chaos.Fault) (why, condition string)
}

// cell says which of a kind's examples work, and why others do not.
func (c column) cell(examples []string, trials []chaos.Fault) (cell string, why []string) {
	type hits struct {
		whom, condition string
		works, all      int
		refused         []string
	}
	var all []*hits
	for i, f := range trials {
		whom := "of the resource"
		switch {
		case f.HitsServer():
			whom = "of servers"
		case f.HitsClient():
			whom = "of clients"
		}
		at := slices.IndexFunc(all, func(h *hits) bool { return h.whom == whom })
		if at < 0 {
			at = len(all)
			all = append(all, &hits{whom: whom})
		}
		h := all[at]
		h.all++
		if no, condition := c.judge(f); no != "" {
			h.refused = append(h.refused, "`"+examples[i]+"`")
			why = append(why, no)
		} else {
			h.works++
			h.condition = condition
		}
	}
	var works []string
	whole := true
	for _, h := range all {
		if whole = whole && h.works == h.all; h.works == 0 {
			continue
		}
		text := h.whom
		if len(h.refused) > 0 {
			text += " (not " + strings.Join(h.refused, ", ") + ")"
		}
		works = append(works, text)
	}
	switch {
	case whole:
		return "yes" + all[0].condition, why
	case len(works) == 0:
		return "no", why
	}
	return strings.Join(works, ", ") + all[0].condition, why
}
