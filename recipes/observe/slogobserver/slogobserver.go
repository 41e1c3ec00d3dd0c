// Package slogobserver turns what happens to locks and sessions into log records.
//
// In flow: events of package observe. Out flow: records of log/slog.
package slogobserver

import (
	"context"
	"fmt"
	"log/slog"

	"locklab/recipes/observe"
)

// New returns an observer that logs each event with the message "lock granted" and the like. A loss and a disconnect
// are warnings, other changes of a session and failed acquisitions are information, and what locks do all day is for
// debugging. The attributes are session (in hex), recipe, lock, ahead, token, wait or held or down (durations), server
// and error, where an event has them.
func New(log *slog.Logger) func(observe.Event) {
	return func(e observe.Event) {
		ctx, level := context.Background(), levelOf(e.Kind)
		if log.Enabled(ctx, level) {
			log.LogAttrs(ctx, level, message(e), attributes(e)...)
		}
	}
}

func levelOf(k observe.Kind) slog.Level {
	switch k {
	case observe.Lost, observe.Disconnected:
		return slog.LevelWarn
	case observe.Connected, observe.Ended, observe.Failed:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

func message(e observe.Event) string {
	if e.Lock == "" {
		return "session " + e.Kind.String()
	}
	return "lock " + e.Kind.String()
}

func attributes(e observe.Event) []slog.Attr {
	attrs := []slog.Attr{slog.String("session", fmt.Sprintf("%#x", uint64(e.Session)))}
	if e.Lock != "" {
		attrs = append(attrs, slog.String("recipe", e.Recipe), slog.String("lock", e.Lock))
	}
	switch e.Kind {
	case observe.Queued:
		attrs = append(attrs, slog.Int("ahead", e.Ahead))
	case observe.Granted:
		attrs = append(attrs, slog.Int64("token", e.Token), slog.Duration("wait", e.Took))
	case observe.Failed:
		attrs = append(attrs, slog.Duration("wait", e.Took))
	case observe.Released, observe.Lost:
		attrs = append(attrs, slog.Int64("token", e.Token), slog.Duration("held", e.Took))
	case observe.Connected:
		attrs = append(attrs, slog.Duration("down", e.Took))
	}
	if e.Server != "" {
		attrs = append(attrs, slog.String("server", e.Server))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	return attrs
}
