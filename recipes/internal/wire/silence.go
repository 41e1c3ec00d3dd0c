package wire

import "time"

// Silence returns for how long, at most, the servers have heard nothing of the session: the longest time from a request
// that was answered until the next answer, or until now. Servers may end a session only after a silence of its timeout,
// so a test whose process stood still can tell such an end from one without a reason.
//
// The time begins when a request is sent and ends when an answer is read, since a server hears a request at an unknown
// moment in between.
func (w *Wire) Silence() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked.IsZero() {
		return 0
	}
	return max(w.silence, time.Since(w.asked))
}

// answered records that the answer to a request has been read that was sent at this time.
func (w *Wire) answered(asked time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asked.IsZero() {
		w.silence = max(w.silence, time.Since(w.asked))
	}
	if asked.After(w.asked) {
		w.asked = asked
	}
}

// send passes what the client has sent to the server. It has one answer.
func (c *conn) send(p []byte) (int, error) {
	c.mu.Lock()
	c.unanswered = append(c.unanswered, time.Now())
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// Idle reports whether every request on the present connection has its answer.
func (w *Wire) Idle() bool {
	w.mu.Lock()
	c := w.greeted
	w.mu.Unlock()
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.unanswered) == 0
}

// answer records that the oldest request without an answer has one: servers answer in order.
func (c *conn) answer() {
	c.mu.Lock()
	if len(c.unanswered) == 0 {
		c.mu.Unlock()
		return
	}
	asked := c.unanswered[0]
	c.unanswered = c.unanswered[1:]
	c.mu.Unlock()
	c.w.answered(asked)
}
