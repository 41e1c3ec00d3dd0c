package inspect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"time"

	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/harness/untrusted"
)

// A Server is what one server says of itself.
type Server struct {
	Address string `json:"address"`
	// State is leader, follower, observer or standalone, or says why that is not known.
	State string `json:"state"`
	// Clients says that the server lists its connections.
	Clients bool `json:"lists_clients"`
	// Serves says that the server serves clients, as far as it tells.
	Serves bool `json:"serves"`

	reached bool // a connection to it was made
	// unusable says that waiting is unlikely to help: the server cannot be reached, or does not speak as ZooKeeper does.
	unusable bool
}

// A Client is a session's connection, as its server lists it.
type Client struct {
	// Address of the client; empty if no server lists a connection of the session, though all list theirs.
	Address string `json:"address"`
	Server  string `json:"server"`
	// Timeout of the session.
	Timeout time.Duration `json:"timeout_ns"`
	// Silent is for how long the server has answered nothing to the client, since its last answer to anybody that it
	// lists. Clients that run ping in each third of their timeout.
	Silent time.Duration `json:"silent_ns"`

	// connected is when the client connected, by the wall clock of its server.
	connected time.Time
	answered  time.Duration // when the server answered it last, by a clock of the server's
}

// mute reports whether the client has missed its pings: one that runs sends something in each third of its timeout.
func (c *Client) mute() bool { return c.Timeout > 0 && c.Silent > c.Timeout/2 }

// serverCap bounds how long the questions to a server may take, besides half of the time that is left.
const serverCap = 3 * time.Second

// A census is what the servers say of themselves and of the connections that they have.
type census struct {
	servers []Server
	clients map[int64]*Client
	// whole says that every server listed its connections.
	whole bool
}

// ask asks every server, all of them at once. It costs two questions each.
func ask(ctx context.Context, a *remote.Access) *census {
	c := &census{servers: make([]Server, len(a.Servers)), clients: map[int64]*Client{}, whole: true}
	lists := make([]string, len(a.Servers))
	each(len(a.Servers), func(i int) { c.servers[i], lists[i] = askOne(ctx, a, a.Servers[i]) })
	for i, list := range lists {
		c.whole = c.whole && c.servers[i].Clients
		parseClients(list, c.servers[i].Address, c.clients)
	}
	return c
}

func askOne(ctx context.Context, a *remote.Access, server string) (s Server, clients string) {
	within := serverCap
	if end, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(end)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s.Address = server
	answer, err := a.Ask(ctx, server, "srvr")
	op, known := errors.AsType[*net.OpError](err)
	s.reached = !known || op.Op != "dial"
	switch {
	case !s.reached:
		s.State, s.unusable = "cannot be reached: "+untrusted.Line(op.Err.Error()), true
		return s, ""
	case len(answer) == 0:
		s.unusable = ctx.Err() == nil // it has closed the connection
		s.State = "does not answer (it may want TLS, which --connect-ca turns on)"
		if a.TLS != nil {
			s.State = fmt.Sprintf("does not answer over TLS as --connect-ca, --connect-cert and --connect-key set it up (%s)",
				untrusted.Line(fmt.Sprint(err)))
		}
		return s, ""
	case reach.Refused(answer):
		s.State, s.Serves = "does not say (srvr is not allowed)", true
	case strings.Contains(string(answer), "not currently serving requests"):
		s.State = "serves nobody, because it has no leader"
	default:
		s.State, s.Serves = reach.Field(string(answer), "Mode:"), true
		if s.State == "" {
			s.State, s.Serves, s.unusable = "answers as no ZooKeeper server does", false, true
		}
	}
	if answer, err = a.Ask(ctx, server, "cons"); err == nil && reach.Allowed(answer) && s.Serves {
		s.Clients, clients = true, string(answer)
	}
	return s, clients
}

// connectionLine is a server's line about a connection, such as " /10.0.0.7:51234[1](queued=0,…,sid=0x1000,to=4000,…)".
var connectionLine = regexp.MustCompile(`(?m)^\s*/(\S+)\[[0-9a-f]+\]\((.*)\)\s*$`)

// parseClients reads a server's answer to the word cons.
func parseClients(text, server string, into map[int64]*Client) {
	var listed []*Client
	for _, m := range connectionLine.FindAllStringSubmatch(text, -1) {
		c := &Client{Address: m[1], Server: server}
		var session uint64
		for field := range strings.SplitSeq(m[2], ",") {
			name, value, _ := strings.Cut(field, "=")
			switch name {
			case "sid":
				session, _ = strconv.ParseUint(value, 0, 64)
			case "to":
				ms, _ := strconv.ParseInt(value, 10, 64)
				c.Timeout = time.Duration(ms) * time.Millisecond
			case "est":
				ms, _ := strconv.ParseInt(value, 10, 64)
				c.connected = time.UnixMilli(ms)
			case "lresp":
				ms, _ := strconv.ParseInt(value, 10, 64)
				c.answered = time.Duration(ms) * time.Millisecond
			}
		}
		if session != 0 {
			into[int64(session)] = c
			listed = append(listed, c)
		}
	}
	latest := time.Duration(0)
	for _, c := range listed {
		latest = max(latest, c.answered)
	}
	for _, c := range listed {
		if c.answered > 0 {
			c.Silent = latest - c.answered
		}
	}
}

// know adds to the contenders what the servers list of their sessions.
func (c *census) know(all []*Contender) {
	for _, n := range all {
		if n.owner == 0 {
			continue
		}
		if n.Client = c.clients[n.owner]; n.Client == nil && c.whole {
			n.Client = &Client{}
		}
	}
}
