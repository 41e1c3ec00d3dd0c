package fail

import (
	"errors"
	"fmt"
	"testing"
)

// An error is found by itself and by its class, however it is wrapped, and by nothing else.
func TestClass(t *testing.T) {
	bad, other := Input.New("bad file"), Input.New("bad file")
	err := fmt.Errorf("read: %w", errors.Join(errors.New("x"), bad))
	if !errors.Is(err, bad) || !errors.Is(err, Input) || err.Error() != "read: x\nbad file" {
		t.Errorf("%v is not found", err)
	}
	if errors.Is(err, other) || errors.Is(err, Environment) || errors.Is(errors.New("bad file"), Input) {
		t.Errorf("%v is found by what it is not", err)
	}
}
