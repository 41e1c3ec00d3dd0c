package ensembles

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/ensembles/agent"
)

// A host whose agent is still starting is no reason for a warning, and an agent that stays silent is one reason.
func TestLeaseWarnsOnceOfAnAgentThatFallsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		answers := []bool{false, false, true, false, false, true, true}
		n := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(len(answers))*renewEvery+time.Millisecond)
		defer cancel()
		keepLease(ctx, "zk1", func(context.Context) (agent.Stamp, error) {
			n++
			if !answers[n-1] {
				return agent.Stamp{}, errors.New("refused")
			}
			return agent.Stamp{}, nil
		}, slog.New(slog.NewTextHandler(&out, nil)))
		if n != len(answers) {
			t.Fatalf("%d renewals, want %d", n, len(answers))
		}
		if warned, again := strings.Count(out.String(), "WARN"), strings.Count(out.String(), "answers again"); warned != 1 ||
			again != 1 {
			t.Errorf("%d warnings and %d recoveries, want one each:\n%s", warned, again, out.String())
		}
	})
}
