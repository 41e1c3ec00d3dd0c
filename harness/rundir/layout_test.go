package rundir

import (
	"testing"

	"locklab/harness/history"
)

// What a command declared when it greeted is the layout of a scenario that has none.
func TestDeclaredLayout(t *testing.T) {
	for _, tt := range []struct {
		name   string
		events []history.Event
		want   string
	}{
		{"nothing declared", []history.Event{history.Ready(4)}, ""},
		{"declared", []history.Event{history.Ready(4), history.LayoutDeclared("__lock__#")}, "__lock__#"},
		{"not a layout", []history.Event{history.LayoutDeclared("kazoo")}, ""},
	} {
		if got := declaredLayout(history.NewLog(tt.events)); string(got) != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
