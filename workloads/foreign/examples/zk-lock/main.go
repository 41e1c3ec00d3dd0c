// Command zk-lock puts zk.Lock of go-zookeeper behind the lock protocol of locklab, which package foreign specifies. It
// uses nothing else of locklab. To test another lock, change the type attempt: acquire, try and release.
//
// locklab starts it once for each client, so it has one session at a time. zk.Lock cannot give up: an attempt whose
// time is over keeps its place in the queue, gets the lock at its turn and unlocks it at once. So an attempt that may
// not wait asks for the lock only if it finds nobody in the queue. zk.Lock has no fencing tokens either, because it
// does not say which znode is its own.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

func main() {
	if err := serve(); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
}

// serve answers requests until the input ends. Whatever takes time has a goroutine of its own.
func serve() error {
	var s *session
	attempts := map[string]*attempt{} // by the ID of their acquire
	fmt.Println("locklab-lock 1 per-client layout=queue pings")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		verb, rest, _ := strings.Cut(in.Text(), " ")
		words := strings.Fields(rest)
		switch {
		case verb == "open" && len(words) == 4:
			var err error
			if s, err = open(words[0], strings.Split(words[1], ","), words[2]); err != nil {
				fmt.Println("failed", words[0], err)
			}
		case verb == "acquire" && len(words) == 5:
			a := &attempt{id: words[0], lock: zk.NewLock(s.conn, words[2], s.acl())}
			attempts[a.id] = a
			if words[3] != "exclusive" {
				fmt.Println("failed", a.id, "this lock is exclusive")
				continue
			}
			ms, err := strconv.Atoi(words[4])
			switch {
			case err != nil: // no limit
				go a.acquire()
			case ms == 0:
				go a.try(s.conn, words[2])
			default:
				go a.acquire()
				time.AfterFunc(time.Duration(ms)*time.Millisecond, a.giveUp)
			}
		case verb == "cancel" && len(words) == 1:
			if a := attempts[words[0]]; a != nil {
				a.giveUp()
			}
		case verb == "release" && len(words) == 1:
			if a := attempts[words[0]]; a != nil {
				go a.release()
			}
			delete(attempts, words[0])
		case verb == "close" && len(words) == 1:
			s.close()
			fmt.Println("closed", words[0])
		case verb == "ping":
			fmt.Println("pong")
		case verb == "end":
			return nil
		default:
			return fmt.Errorf("request %q is not understood", in.Text())
		}
	}
	return in.Err()
}

// A session is a connection for as long as it has its first ZooKeeper session. (A zk.Conn would go on with another.)
type session struct {
	id   string // of the open
	conn *zk.Conn

	mu     sync.Mutex
	opened bool
	over   bool
}

// open begins a session. It answers when the session is there, which [session.changed] hears.
func open(id string, servers []string, timeoutMS string) (*session, error) {
	ms, err := strconv.Atoi(timeoutMS)
	if err != nil {
		return nil, err
	}
	s := &session{id: id}
	s.mu.Lock() // until s.conn is set
	defer s.mu.Unlock()
	s.conn, _, err = zk.Connect(servers, time.Duration(ms)*time.Millisecond, zk.WithEventCallback(s.changed),
		zk.WithLogInfo(false))
	return s, err
}

func (s *session) tellOpened(server string) {
	fmt.Printf("opened %s %#x - %s\n", s.id, uint64(s.conn.SessionID()), server)
}

// credential is user:password, if the ensemble wants one.
var credential = os.Getenv("LOCKLAB_CREDENTIAL")

// acl returns who may use the lock's znodes.
func (s *session) acl() []zk.ACL {
	if credential == "" {
		return zk.WorldACL(zk.PermAll)
	}
	return zk.AuthACL(zk.PermAll)
}

// changed reports what becomes of the session. The connection waits for it.
func (s *session) changed(e zk.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Type != zk.EventSession || s.over:
	case e.State == zk.StateHasSession && !s.opened:
		s.opened = true
		if credential == "" {
			s.tellOpened(e.Server)
			return
		}
		go func() { // an answer is read once the connection has gone on
			err := s.conn.AddAuth("digest", []byte(credential))
			for errors.Is(err, zk.ErrConnectionClosed) { // it broke meanwhile, and the client makes another one
				err = s.conn.AddAuth("digest", []byte(credential))
			}
			if err != nil {
				fmt.Println("failed", s.id, err)
				return
			}
			s.tellOpened(e.Server)
		}()
	case e.State == zk.StateHasSession:
		fmt.Println("connected", s.id, e.Server)
	case e.State == zk.StateDisconnected && s.opened:
		fmt.Println("disconnected", s.id)
	case e.State == zk.StateExpired:
		s.over = true
		fmt.Println("expired", s.id)
		go s.conn.Close()
	}
}

func (s *session) close() {
	s.mu.Lock()
	over := s.over
	s.over = true
	s.mu.Unlock()
	if !over {
		s.conn.Close()
	}
}

// An attempt is an acquire, and the hold that it may become.
type attempt struct {
	id   string
	lock *zk.Lock

	mu       sync.Mutex
	answered bool
}

// answer reports whether the acquire had no answer yet, and gives it one.
func (a *attempt) answer(verb string, text ...any) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answered {
		return false
	}
	a.answered = true
	fmt.Println(append([]any{verb, a.id}, text...)...)
	return true
}

func (a *attempt) acquire() {
	switch err := a.lock.Lock(); {
	case err != nil:
		a.answer("failed", err)
	case !a.answer("granted"):
		_ = a.lock.Unlock() // nobody waits for it any more
	}
}

// try acquires the lock if nobody is in its queue. If somebody comes in between, it waits until it is cancelled.
func (a *attempt) try(conn *zk.Conn, path string) {
	queue, _, err := conn.Children(path)
	switch {
	case err != nil && !errors.Is(err, zk.ErrNoNode): // zk.Lock makes the directory
		a.answer("failed", err)
	case len(queue) > 0:
		a.giveUp()
	default:
		a.acquire()
	}
}

func (a *attempt) giveUp() { a.answer("timeout") }

func (a *attempt) release() {
	switch err := a.lock.Unlock(); {
	case err == nil:
		fmt.Println("released", a.id)
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrSessionExpired), errors.Is(err, zk.ErrClosing):
		fmt.Println("lost", a.id, err)
	default:
		fmt.Println("failed", a.id, err)
	}
}
