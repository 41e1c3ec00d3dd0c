package zktest

import "time"

// A Clock tells a service the time. Sessions expire, and delays end, by it.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, unless stop is called before. It must not call f before it has returned.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// realClock is the clock of package time, which is virtual in a bubble of testing/synctest.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}
