package agent

import (
	"syscall"
	"time"
)

// ProcessorTick is the unit in which Linux tells programs of processor time, on each architecture that locklab runs on.
const ProcessorTick = time.Second / 100

// OwnProcessorTime returns how much of the processors this process has used, without its children.
func OwnProcessorTime() (time.Duration, error) {
	var own syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	return time.Duration(own.Utime.Nano() + own.Stime.Nano()), err
}
