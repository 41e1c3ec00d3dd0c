package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"

	"locklab/harness/scenario"
	"locklab/reports/serve"
)

type serveCmd struct {
	Dir    string   `arg:"" optional:"" default:"runs" predictor:"dir" help:"Directory with runs, at any depth."`
	Listen string   `default:"127.0.0.1:8420" placeholder:"ADDRESS" help:"${serve_listen_help}"`
	Name   []string `placeholder:"HOST" help:"${serve_name_help}"`
}

// Run serves the runs below a directory until ctx ends.
func (c *serveCmd) Run(ctx context.Context, std streams) error {
	at, err := netip.ParseAddrPort(c.Listen)
	if err != nil {
		return &scenario.InputError{Flag: "--listen", Msg: fmt.Sprintf("%q is not an IP address with a port", c.Listen),
			Hint: "such as 127.0.0.1:8420"}
	}
	s, err := serve.New(serve.Config{Dir: c.Dir, Names: c.Name})
	if err != nil {
		return err
	}
	defer s.Close()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
	if err != nil {
		return &scenario.InputError{Flag: "--listen", Msg: err.Error(), Hint: "port 0 takes a free one"}
	}
	if !at.Addr().IsLoopback() {
		fmt.Fprintf(std.Err, "warning: whoever can reach %s can read everything in %s\n", l.Addr(), c.Dir)
	}
	fmt.Fprintf(std.Out, "http://%s/\n", l.Addr())
	return s.Serve(ctx, l)
}
