package history

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets tests start this binary again as another process: one that
// records until it is killed, or one that reads its clock.
func TestMain(m *testing.M) {
	switch role := os.Getenv("LOCKLAB_TEST_ROLE"); role {
	case "":
		os.Exit(m.Run())
	case "full":
		recordUntilFull(os.Args[1])
	case "recorder":
		recordForever(os.Args[1])
	case "clock":
		fmt.Println(NewClock().Now())
	default:
		panic("unknown role " + role)
	}
}
