package wire

// Pings returns how many heartbeats were sent. A client sends one only where it has had nothing
// else to send or its timer says so: either way its loop has come round.
func (w *Wire) Pings() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[OpPing]
}
