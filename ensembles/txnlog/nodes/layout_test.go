package nodes

import (
	"strings"
	"testing"
)

// A pattern selects the children whose names end as it says, and gives each its kind and number.
func TestPatterns(t *testing.T) {
	for _, tt := range []struct {
		layout, path string
		kind         int
		seq          int64 // -1 = it does not contend
	}{
		{"__lock__#", "/l/5b0c__lock__0000000007", 0, 7},
		{"__lock__#", "/l/5b0c__rlock__0000000007", 0, -1},
		{"__lock__#", "/l/lock-0000000007", 0, -1},
		{"__lock__#", "/l/5b0c__lock__7", 0, -1},
		{"__lock__#", "/l/sub/5b0c__lock__0000000007", 0, -1},
		{"__lock__#,__rlock__#", "/l/5b0c__lock__0000000007", 0, 7},
		{"__lock__#,__rlock__#", "/l/5b0c__rlock__0000000008", 1, 8},
		{"#", "/l/anything0000000009", 0, 9},
		{"queue", "/l/_c_1-lock-0000000001", 0, 1},
		{"read-write", "/l/x__READ__0000000002", 1, 2},
		{"textbook", "/l/x-write-0000000003", 0, 3},
		{"semaphore", "/l/leases/x-lease-0000000004", 0, 4},
		{"znode", "/l", 0, 0},
		{"znode", "/l/lock-0000000001", 0, -1},
	} {
		l, err := ParseLayout(tt.layout)
		if err != nil {
			t.Fatal(err)
		}
		contends, _ := l.Contends("/l", func(int64) int { return 1 })
		place, ok := contends.Place(tt.path)
		if ok != (tt.seq >= 0) || ok && place != (Place{Kind: tt.kind, Seq: tt.seq}) {
			t.Errorf("%s in layout %s: %+v, %t", tt.path, tt.layout, place, ok)
		}
	}
}

func TestLayoutsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":            `"" is not a layout`,
		"lock-":       `"lock-" is not a layout`,
		"#lock":       `"#lock" is not a layout`,
		"lock##":      `"lock##" is not a layout`,
		"a/lock-#":    `"a/lock-#" is not a layout`,
		"lock -#":     `"lock -#" is not a layout`,
		"a#,b#,c#":    `"a#,b#,c#" is not a layout`,
		"a#,":         `"a#," is not a layout`,
		"lock#,ck#":   "ends in the other",
		"lock#,#":     "ends in the other",
		"lock#,lock#": "ends in the other",
	} {
		if l, err := ParseLayout(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %q, %v; want %s", text, l, err, want)
		}
	}
}
