package wire

// Pings returns how many pings were sent. A client sends one only when it has had nothing else to send or when its
// timer fires: in both cases its loop has run.
func (w *Wire) Pings() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[OpPing]
}
