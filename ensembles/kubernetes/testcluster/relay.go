package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// relay passes the connections of a listener on to an address in the network of a process, as long as this one lives.
func relay(l net.Listener, pid int, address string) error {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return err
	}
	entered := make(chan error)
	dials := make(chan net.Conn)
	go func() {
		// The thread stays in that network. A socket belongs to the network of the thread that makes it.
		runtime.LockOSThread()
		err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET)
		namespace.Close()
		if entered <- err; err != nil {
			return
		}
		for in := range dials {
			out, err := net.DialTimeout("tcp4", address, 5*time.Second)
			if err != nil {
				in.Close()
				continue
			}
			go pass(in, out)
			go pass(out, in)
		}
	}()
	if err := <-entered; err != nil {
		return fmt.Errorf("enter the cluster's network: %w", err)
	}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			dials <- in
		}
	}()
	return nil
}

// pass copies a direction of a connection, and ends both directions with it.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	to.Close()
	from.Close()
}
