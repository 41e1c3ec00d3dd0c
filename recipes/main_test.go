package recipes

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain takes the ensemble down before it looks for goroutines left behind:
// the lab's leases have some.
func TestMain(m *testing.M) {
	code := m.Run()
	err := ensemble.shared.Close()
	if err == nil {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
