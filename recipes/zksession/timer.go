package zksession

import "time"

// A Timer is what a [time.Timer] of [time.AfterFunc] is.
type Timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}
