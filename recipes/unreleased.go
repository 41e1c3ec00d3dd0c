package recipes

import (
	"context"
	"errors"
)

// A hold that was lost keeps its znode until it is released, and with it everybody who waits for the lock: see
// [Hold.Release]. A program that forgets that is hard to see from outside, because its session is well. So the session
// logs a warning, once for each such hold, when the session timeout has passed since the loss. By then the work has had
// the time that it would have had if the session had expired. A session that has ended keeps nobody waiting.

// warnUnreleased makes the session warn of the hold, unless it is released before the hold is lost, or soon after.
func (s *Session) warnUnreleased(h *Hold) {
	h.unwarn = context.AfterFunc(h.ctx, func() {
		cause := context.Cause(h.ctx)
		if errors.Is(cause, ErrReleased) {
			return
		}
		s.tasks.Start(func() {
			late, due := s.timers.channel(s.Timeout())
			defer late.Stop()
			select {
			case <-due:
			case <-s.Done():
				return
			}
			if !h.entries.undone() {
				s.janitor.log.Warn("a hold was lost and has not been released: other clients may wait for it until Release",
					"znode", h.path, "lost_for", s.Timeout(), "cause", cause)
			}
		})
	})
}
