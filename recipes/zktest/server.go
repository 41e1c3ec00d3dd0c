package zktest

// A server is one of a service's servers, as far as it may differ from the others: it may lag behind or be stopped,
// and it has the watches of the sessions that are connected to it.
type server struct {
	svc     *Service
	address string
	stopped bool
	watches watches

	// While it lags it has a tree of its own, and what it has still to carry out.
	lagging bool
	old     tree
	oldZxid int64
	pending []change
}

func (m *server) view() tree {
	if m.lagging {
		return m.old
	}
	return m.svc.tree
}

// zxid returns the newest transaction that the server knows.
func (m *server) zxid() int64 {
	if m.lagging {
		return m.oldZxid
	}
	return m.svc.zxid
}

// learn tells the server of a transaction that has been committed.
func (m *server) learn(changes []change) {
	if m.lagging {
		m.pending = append(m.pending, changes...)
		return
	}
	for _, c := range changes {
		m.watches.fire(c)
	}
}

func (m *server) lag() {
	if !m.lagging {
		m.lagging, m.old, m.oldZxid = true, m.svc.tree.clone(), m.svc.zxid
	}
}

func (m *server) catchUp() {
	if !m.lagging {
		return
	}
	for _, c := range m.pending {
		m.old.apply(c)
		m.watches.fire(c)
	}
	m.lagging, m.old, m.pending = false, nil, nil
}

// Lag makes a server fall behind: until it catches up it answers reads from its present state, and reports no events.
// It catches up when CatchUp is called, when one of its sessions asks for a sync, and before it answers a session's
// write, as real servers do. Servers are numbered from 0.
func (s *Service) Lag(server int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[server].lag()
}

// CatchUp lets a server that lags behind carry out what it has missed.
func (s *Service) CatchUp(server int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers[server].catchUp()
	s.attachAll() // it may have been behind what a session had seen
}

// Stop stops servers, or all if none is named: they break their connections and accept no more. Their sessions go to
// another server, and expire if they find none within their timeouts.
func (s *Service) Stop(servers ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.named(servers) {
		m.stopped = true
		for _, ss := range s.sessions {
			if ss.link != nil && ss.link.server == m {
				ss.link.cut()
			}
		}
	}
	s.attachAll()
}

// Resume lets servers, or all if none is named, go on after Stop.
func (s *Service) Resume(servers ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.named(servers) {
		m.stopped = false
	}
	s.attachAll()
}

func (s *Service) named(numbers []int) (all []*server) {
	if len(numbers) == 0 {
		return s.servers
	}
	for _, n := range numbers {
		all = append(all, s.servers[n])
	}
	return all
}
