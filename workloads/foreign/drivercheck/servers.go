package drivercheck

import (
	"context"
	"slices"

	"locklab/recipes/zktest"
)

// servers are what a command is told to connect to, and what a case may do to its sessions there.
type servers interface {
	// addrs are what the command is told.
	addrs() []string
	// base is the znode below which the locks are.
	base() string
	// sessions are those that live, as far as the servers tell.
	sessions() []int64
	disconnect(session int64)
	// expire ends a session at the servers.
	expire(ctx context.Context, session int64) error
	// node returns the session and the children of a znode, if there is one.
	node(ctx context.Context, name string) (owner int64, children []string, found bool)
	close()
}

// inMemory are the servers that this process itself has.
type inMemory struct{ *zktest.Service }

func newInMemory() (servers, error) {
	s := inMemory{zktest.New(zktest.Config{})}
	if err := s.Listen(); err != nil {
		return nil, err
	}
	return s, nil
}

func (m inMemory) addrs() []string          { return m.Addrs() }
func (m inMemory) base() string             { return "/locklab-driver-check" }
func (m inMemory) sessions() []int64        { return slices.Clone(m.Sessions()) }
func (m inMemory) disconnect(session int64) { m.Disconnect(session) }
func (m inMemory) close()                   { m.Close() }

func (m inMemory) expire(_ context.Context, session int64) error {
	m.Expire(session)
	return nil
}

func (m inMemory) node(_ context.Context, name string) (owner int64, children []string, found bool) {
	n, found := m.Node(name)
	return n.Stat.EphemeralOwner, n.Children, found
}
