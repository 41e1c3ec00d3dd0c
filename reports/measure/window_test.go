package measure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnion(t *testing.T) {
	got := Union([]Span{{From: 5, To: 9}, {From: 1, To: 3}, {From: 2, To: 4}, {From: 9, To: 10}})
	if diff := cmp.Diff([]Span{{From: 1, To: 4}, {From: 5, To: 10}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
