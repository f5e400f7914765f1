// Command bench compares Weir with the best possible results on the same machine at the same time: a provider of nearly no cost, and nginx,
// a hand-tuned forwarding handler, and Weir with all features in front of it. It uses only loopback, bounds every run in count and time,
// and must not import the gateway: it sees only what a client sees.
//
//	go run ./bench                 everything, as make bench does
//	go run ./bench -weir ""        only the references
//	go run ./bench -passes 3       the best of three, for a noisy machine
//	go run ./bench -against FILE   another build beside this one, slice by slice
//	go run ./bench -memory         the memory under load, and whether it comes back
//	go run ./bench -pages DIR      what the pages read of a database that was filled before
//	go run ./bench -tls            a provider over TLS, by either client, and over HTTP/2
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// settings are the flags of a measurement.
type settings struct {
	weir    string        // path of the tested binary; "" measures only the references
	each    time.Duration // length of one closed or open loop
	passes  int
	streams int
	rate    int // requests per second of the open loop
	only    string
	json    string
	profile string
	strict  bool
	models  int  // more of them in Weir's catalog
	over    over // the zero value: plain
}

func run() error {
	var s settings
	var serve, listen, upstream string
	flag.StringVar(&s.weir, "weir", "bin/weir", "the gateway's binary; empty measures the limits alone")
	flag.DurationVar(&s.each, "each", 4*time.Second, "length of each loop")
	flag.IntVar(&s.passes, "passes", 1, "measure everything so often and keep the best of each, as noise only adds")
	flag.IntVar(&s.streams, "streams", 1000, "streams open at once")
	flag.IntVar(&s.rate, "rate", 1000, "requests a second of the open loop")
	flag.StringVar(&s.only, "only", "", "run only the scenarios whose name holds this text")
	flag.StringVar(&s.json, "json", "", "also write every figure to this file")
	flag.StringVar(&s.profile, "profile", "", "write a CPU profile of Weir in each loop to this folder; what is measured suffers a little")
	flag.BoolVar(&s.strict, "strict", false, "fail when a gate is missed")
	remembering := flag.Bool("memory", false, "measure the memory under streams and large bodies, and a minute after, instead of everything else")
	against := flag.String("against", "", "compare -weir with this other build, slice by slice, instead of everything else")
	securing := flag.Bool("tls", false, "measure Weir with a provider over TLS, by either client, and over HTTP/2, instead of everything else; -against adds another build")
	flag.IntVar(&s.models, "models", 0, "more models in Weir's catalog, with three endpoints for two models: what a large one costs")
	reading := flag.String("pages", "", "measure what pages read of the database weir.db in this folder, over HTTP, instead of everything else; go test fills one")
	flag.StringVar(&serve, "serve", "", "internal: be one of the servers measured: mock, mocktls, handtuned")
	flag.StringVar(&listen, "listen", "", "internal: loopback address of -serve")
	flag.StringVar(&upstream, "upstream", "", "internal: address of the mock for -serve handtuned, folder of the certificate for mocktls")
	flag.Parse()
	if s.each > time.Minute || s.passes > 20 || s.streams > 5000 || s.rate > 20_000 || s.models > 10_000 {
		return errors.New("over the bounds of this program: -each 1m, -passes 20, -streams 5000, -rate 20000, -models 10000")
	}
	if serve != "" {
		return serveOne(serve, listen, upstream)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *reading != "" {
		return pages(ctx, s, *reading)
	}
	if *remembering {
		return memory(ctx, s)
	}
	if *securing {
		return secured(ctx, s, *against)
	}
	if *against != "" {
		return compare(ctx, s, *against)
	}
	return measureAll(ctx, s)
}

// serveOne runs this program as a server in a child process, so that its CPU time can be measured separately.
func serveOne(what, listen, upstream string) error {
	ln, err := listenLoopback(listen)
	if err != nil {
		return err
	}
	switch what {
	case "mock":
		return serveMock(ln)
	case "mocktls":
		return serveMockTLS(ln, upstream)
	case "handtuned":
		return serveHandtuned(ln, upstream)
	default:
		return fmt.Errorf("-serve %s: no such server", what)
	}
}

func listenLoopback(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%s is not a loopback address", address)
	}
	return net.Listen("tcp", address)
}
