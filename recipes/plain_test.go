package recipes

import (
	"testing"
	"time"

	"locklab/recipes/zksession"
	"locklab/recipes/zktest"
)

// A plain client that tells nobody of its states can be closed.
func TestPlainClosesUnobserved(t *testing.T) {
	c, err := zksession.ConnectPlain(within(t), zksession.PlainConfig{Config: zksession.Config{
		Servers: zktest.StartWith(t, zktest.Config{Servers: 1}).Addrs(), Timeout: 4 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(within(t)); err != nil {
		t.Error(err)
	}
}
