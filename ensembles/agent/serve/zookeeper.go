package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/ensembles/agent"
)

// commands are the four-letter words that an agent may send to its server.
var commands = []string{"srvr", "mntr", "ruok", "wchs", "cons", "dump", "conf"}

// ask sends one four-letter word to the host's own server.
func ask(ctx context.Context, word string) ([]byte, error) {
	if !slices.Contains(commands, word) {
		return nil, fmt.Errorf("unknown command %q (known: %v)", word, commands)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return askAt(ctx, localServer(), word)
}

// askAt sends a word to a server. ctx must have a deadline.
func askAt(ctx context.Context, address, word string) ([]byte, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp4", address)
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

func localServer() string { return fmt.Sprintf("127.0.0.1:%d", agent.ClientPort) }

// commitWrite proves that a quorum accepts writes through the host's own server:
// it creates an ephemeral node and deletes it.
func commitWrite(ctx context.Context, log *slog.Logger) error {
	return asClient(ctx, log, func(conn *zk.Conn) error {
		path, err := conn.Create("/locklab-ready-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		if err == nil {
			err = conn.Delete(path, -1)
		}
		return err
	})
}

// asClient calls f with a session of its own with the host's server.
func asClient(ctx context.Context, log *slog.Logger, f func(*zk.Conn) error) error {
	conn, _, err := zk.Connect([]string{localServer()}, 4*time.Second, zk.WithLogger(printf{log}), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- f(conn) }()
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
