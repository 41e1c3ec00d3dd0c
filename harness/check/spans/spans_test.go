package spans

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMerged(t *testing.T) {
	got := Merged([]Span{{From: 5, Until: 9}, {From: 1, Until: 3}, {From: 2, Until: 4}, {From: 9, Until: 10}})
	if diff := cmp.Diff(List{{From: 1, Until: 4}, {From: 5, Until: 10}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
