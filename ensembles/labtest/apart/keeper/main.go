// Command keeper keeps a lab with an ensemble for tests that import nothing of it; see package apart. It writes the
// servers' addresses as a line of JSON, obeys one order a line, and removes the lab when its input ends.
//
//	keeper SYNC_LIMIT
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := keep(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		os.Exit(1)
	}
}

func keep(ctx context.Context) (err error) {
	orders := bufio.NewScanner(os.Stdin)
	lacks, err := labtest.Lacks(ctx)
	if err != nil {
		return err
	}
	if lacks != "" {
		if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"Skip": lacks}); err != nil {
			return err
		}
		orders.Scan() // until the input ends
		return orders.Err()
	}
	cfg := labtest.ServerConfig()
	if len(os.Args) == 2 && os.Args[1] != "0" {
		if cfg.SyncLimit, err = strconv.Atoi(os.Args[1]); err != nil {
			return err
		}
	}
	starting, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	s, err := labtest.NewShared(starting, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	leader, err := s.Ensemble.Leader(starting)
	if err != nil {
		return err
	}
	servers := []string{leader.Published.String()}
	for _, h := range s.Ensemble.Servers {
		if h != leader {
			servers = append(servers, h.Published.String())
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string][]string{"Servers": servers}); err != nil {
		return err
	}
	for orders.Scan() {
		answer := "ok"
		if err := obey(ctx, s.Ensemble, orders.Text()); err != nil {
			answer = fmt.Sprintf("%q", err)
		}
		fmt.Println(answer)
	}
	return orders.Err()
}

// cut is the ID of the rule that cuts a server off.
const cut = "cut"

// obey carries out an order: a verb and a server's address.
func obey(ctx context.Context, e *ensembles.Ensemble, order string) error {
	var verb, address string
	if _, err := fmt.Sscan(order, &verb, &address); err != nil {
		return err
	}
	var to *ensembles.Host
	var others []netip.Addr
	for _, h := range e.Servers {
		if h.Published.String() == address {
			to = h
		} else {
			others = append(others, h.Address)
		}
	}
	if to == nil {
		return fmt.Errorf("%s is no server", address)
	}
	var err error
	switch verb {
	case "pause":
		_, err = to.Agent.Pause(ctx)
	case "resume":
		_, err = to.Agent.Resume(ctx)
	case "cut":
		_, err = to.Agent.Block(ctx, agent.Block{ID: cut, Peers: others})
	case "heal":
		_, err = to.Agent.Clear(ctx, cut)
	default:
		err = fmt.Errorf("%q is no order", verb)
	}
	return err
}
