package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// commands are the four-letter words that an agent may send to its server.
var commands = []string{"srvr", "mntr", "ruok", "wchs", "cons", "dump", "conf"}

// ask sends one four-letter word to the host's own server.
func (u upstream) ask(ctx context.Context, word string) ([]byte, error) {
	if !slices.Contains(commands, word) {
		return nil, fmt.Errorf("unknown command %q (known: %v)", word, commands)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	b, err := askBy(ctx, u.dial, word)
	if err == nil && refusesWord(b) {
		return nil, fmt.Errorf("the server does not allow the four-letter word %s", word)
	}
	return b, err
}

// refusesWord reports whether an answer says that the server does not allow the four-letter word.
func refusesWord(answer []byte) bool {
	return strings.Contains(string(answer), "is not executed because it is not in the whitelist")
}

// askBy sends a word to a server that dial connects to. ctx must have a deadline.
func askBy(ctx context.Context, dial dialer, word string) ([]byte, error) {
	c, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	if _, err := io.WriteString(c, word); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(c, 16<<20))
}

// commitWrite proves that a quorum accepts writes through the host's own server:
// it creates an ephemeral node and deletes it.
func (u upstream) commitWrite(ctx context.Context, log *slog.Logger) error {
	return u.asClient(ctx, log, func(conn *zk.Conn) error {
		path, err := conn.Create(u.root+"/locklab-ready-", nil, zk.FlagEphemeral|zk.FlagSequence, u.acl())
		if err == nil {
			err = conn.Delete(path, -1)
		}
		return err
	})
}

// asClient calls f with a session of its own with the host's server.
func (u upstream) asClient(ctx context.Context, log *slog.Logger, f func(*zk.Conn) error) error {
	dial := func(_, _ string, limit time.Duration) (net.Conn, error) {
		once, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return u.dial(once)
	}
	conn, _, err := zk.Connect([]string{u.name}, 4*time.Second, zk.WithDialer(dial), zk.WithLogger(printf{log}),
		zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		var err error
		if u.credential != "" {
			err = conn.AddAuth("digest", []byte(u.credential))
		}
		if err == nil {
			err = f(conn)
		}
		done <- err
	}()
	select {
	case err = <-done:
		conn.Close()
	case <-ctx.Done():
		conn.Close() // ends the calls in flight
		<-done
		err = context.Cause(ctx)
	}
	return err
}

type printf struct{ log *slog.Logger }

func (p printf) Printf(format string, args ...any) { p.log.Debug(fmt.Sprintf(format, args...)) }
