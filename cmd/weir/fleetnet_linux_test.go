package main_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

var fleetApart = flag.Bool("fleet.apart", false, "used by TestFleet itself: it runs in a network namespace that it may change")

// runApart runs TestFleet in network and mount namespaces of its own: whatever it makes there is gone with it, however it ends.
func runApart(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-test.run=^TestFleet$", "-test.v", "-fleet.long", "-fleet.apart"}
	if end, ok := t.Deadline(); ok {
		args = append(args, "-test.timeout="+time.Until(end).String())
	}
	cmd := exec.Command(self, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread() // Pdeathsig comes with the end of the thread
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		t.Fatalf("each node of the long run is in a network namespace of its own, which the system does not let this account make: run it as root, in a container with CAP_SYS_ADMIN and CAP_NET_ADMIN: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// Each node has a network namespace of its own with three links, one for each of what it has to reach or is reached by, to bridges of this one.
const (
	toClients  = "clients"
	toDatabase = "database"
	toProvider = "provider"
)

var ways = []string{toClients, toDatabase, toProvider}

type network struct{ ip string }

// newNetwork makes bridges and namespaces. It changes the namespaces of this process: see runApart.
func newNetwork(t *testing.T, nodes int) *network {
	t.Helper()
	ip, err := exec.LookPath("ip")
	if err != nil {
		if ip, err = exec.LookPath("/usr/sbin/ip"); err != nil {
			t.Fatal("this test needs the program ip: on Debian apt-get install iproute2")
		}
	}
	n := &network{ip}
	const names = "/run/netns"
	if err := os.MkdirAll(names, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", names, "tmpfs", 0, ""); err != nil { // so that names are those of this test alone
		t.Fatal(err)
	}
	n.run(t, "link", "set", "lo", "up")
	for _, way := range ways {
		n.run(t, "link", "add", way, "type", "bridge")
		n.run(t, "address", "add", n.host(way)+"/24", "dev", way)
		n.run(t, "link", "set", way, "up")
	}
	for i := range nodes {
		name := nameOf(i)
		n.run(t, "netns", "add", name)
		t.Cleanup(func() { n.run(t, "netns", "delete", name) })
		n.run(t, "-n", name, "link", "set", "lo", "up")
		for _, way := range ways {
			n.run(t, "link", "add", end(i, way), "type", "veth", "peer", "name", way, "netns", name)
			n.run(t, "link", "set", end(i, way), "master", way, "up")
			n.run(t, "-n", name, "address", "add", n.node(i, way)+"/24", "dev", way)
			n.run(t, "-n", name, "link", "set", way, "up")
		}
	}
	return n
}

func nameOf(i int) string { return fmt.Sprint("node", i) }

// end is the name of a link's end at the bridge.
func end(i int, way string) string { return fmt.Sprint(way, i) }

func subnet(way string) int {
	for i, w := range ways {
		if w == way {
			return i + 1
		}
	}
	panic(way)
}

// host is the address of all but the nodes, on their way to it.
func (n *network) host(way string) string { return fmt.Sprintf("10.99.%d.1", subnet(way)) }

func (n *network) node(i int, way string) string {
	return fmt.Sprintf("10.99.%d.%d", subnet(way), 11+i)
}

// within is a command that runs another one where a node is.
func (n *network) within(i int) []string { return []string{n.ip, "netns", "exec", nameOf(i)} }

// link takes a link of a node down, or up again.
func (n *network) link(t *testing.T, i int, way string, up bool) {
	t.Helper()
	state := "down"
	if up {
		state = "up"
	}
	n.run(t, "link", "set", end(i, way), state)
}

func (n *network) run(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command(n.ip, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s(the long run of TestFleet needs root, and a system whose network has namespaces, bridges and veth)", args, err, out)
	}
}
