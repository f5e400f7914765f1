package main_test

import (
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"weir/internal/money"
)

// versionPrice is the price of an answer token, one for each version of the configuration. Each gives a different cost.
func versionPrice(version int64) string { return fmt.Sprintf("0.4%02d1", version) }

// wantCost checks that a call was charged at one of the versions from first to last.
func wantCost(t *testing.T, r reply, first, last int64) {
	t.Helper()
	var reported []string
	for v := first; v <= last; v++ {
		var sum money.Sum
		for price, tokens := range map[string]int64{"0.1": r.usage.PromptTokens, versionPrice(v): r.usage.CompletionTokens} {
			p, err := money.ParsePrice(price)
			if err != nil {
				t.Fatal(err)
			}
			sum.PerThousand(tokens, p.Nano)
		}
		cost, err := sum.Ceil()
		if err != nil {
			t.Fatal(err)
		}
		if reported = append(reported, cost.String()); cost == rubles(t, r.usage.Cost) {
			return
		}
	}
	t.Errorf("%s cost %s; by versions %d to %d it is one of %v", r.id, r.usage.Cost, first, last, reported)
}

// versions are those of a site's configuration: a call uses one between inForce at its start and written at its end.
type versions struct{ inForce, written atomic.Int64 }

func (v *versions) call(t *testing.T, send func() (reply, *broken)) {
	first := v.inForce.Load()
	r, bad := send()
	if t.Context().Err() != nil {
		return // the test has already ended
	}
	if bad != nil {
		t.Errorf("failed: %v", bad)
		return
	}
	wantCost(t, r, first, v.written.Load())
}

// A configuration that changes twenty times under load fails no request. Each is charged by one version, a stream by the version at its
// start. A bad file changes nothing, and its error has the line.
func TestReloadUnderLoad(t *testing.T) {
	t.Parallel()
	const reloads = 20
	s := startSite(t, settings{price: versionPrice(0)})
	var (
		v     versions
		calls atomic.Int64
		load  sync.WaitGroup
		stop  = make(chan struct{})
		halt  = sync.OnceFunc(func() { close(stop); load.Wait() })
	)
	t.Cleanup(halt)
	for i := range 16 {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if i%2 == 0 {
					v.call(t, func() (reply, *broken) { return s.whole(t.Context(), fmt.Sprintf("[[sim delay=20ms]] call %d", i)) })
				} else {
					v.call(t, func() (reply, *broken) {
						return s.stream(t.Context(), fmt.Sprintf("[[sim gap=10ms frames=20]] stream %d", i), nil)
					})
				}
				calls.Add(1)
			}
		})
	}
	for n := range int64(reloads) {
		long := s.openStreams(t, 1, "[[sim gap=10ms frames=60]]", func(r reply, bad *broken) {
			if bad != nil {
				t.Errorf("a stream over a reload: %v", bad)
				return
			}
			wantCost(t, r, n, n)
		})
		v.written.Store(n + 1)
		s.write(t, s.config(settings{price: versionPrice(n + 1)}))
		if n%2 == 0 { // else the node finds the changed file itself
			s.signal(t, syscall.SIGHUP)
		}
		waitFor(t, "the new price", func() bool { return s.price(t, s.model) == versionPrice(n+1) })
		v.inForce.Store(n + 1)
		if n == reloads/2 {
			s.wantRefused(t, strings.Replace(s.config(settings{price: "9"}), "builtin:", "bulitin:", 1), "weir.yaml:7")
			s.wantRefused(t, s.config(settings{price: "-1"}), "weir.yaml:14")
			s.wantRefused(t, "server: [", "weir.yaml")
			s.write(t, s.config(settings{price: versionPrice(n + 1)}))
		}
		long.Wait()
	}
	halt()
	t.Logf("%d calls over %d reloads, none failed", calls.Load(), reloads)
	s.kill()
	verify(t, "-c", s.file)
}

// wantRefused gives the node a bad file and waits until it has logged the position of the error.
func (s *site) wantRefused(t *testing.T, text, where string) {
	t.Helper()
	before, price := strings.Count(s.stderr.String(), "the new configuration is not used"), s.price(t, s.model)
	s.write(t, text)
	s.signal(t, syscall.SIGHUP)
	waitFor(t, "the refusal", func() bool { return strings.Count(s.stderr.String(), "the new configuration is not used") > before })
	if line := s.stderr.with("the new configuration is not used"); !strings.Contains(line, where) || !strings.Contains(line, `"ERROR"`) {
		t.Errorf("the refusal must tell %s: %s", where, line)
	}
	if now := s.price(t, s.model); now != price {
		t.Errorf("the price became %s, although the file is bad", now)
	}
}

// price returns the price that the node charges for a thousand tokens of an answer.
func (s *site) price(t *testing.T, model string) string {
	t.Helper()
	var m struct {
		Price string `json:"price_out_per_1k"`
	}
	if status, err := s.getJSON("/v1/models/"+model, &m); err != nil || status != http.StatusOK {
		t.Fatalf("the model: status %d, %v", status, err)
	}
	return m.Price
}

// A running node soon refuses a key that was disabled, or whose user was disabled. When it is enabled again, the node accepts it.
func TestDisableWhileTheNodeRuns(t *testing.T) {
	t.Parallel()
	s := startSite(t, settings{price: "0.4"})
	opens := func() bool {
		status, err := s.getJSON("/v1/credits", &struct{}{})
		if err != nil || status != http.StatusOK && status != http.StatusUnauthorized {
			t.Fatalf("status %d, %v", status, err)
		}
		return status == http.StatusOK
	}
	_, bad := s.whole(t.Context(), "hello")
	if bad != nil {
		t.Fatal(bad)
	}
	fields := strings.Fields(strings.Split(weir(t, "key", "list", "-c", s.file), "\n")[1])
	hash := fields[len(fields)-1]
	for _, change := range []struct {
		command []string
		opens   bool
	}{
		{[]string{"key", "disable", hash}, false}, {[]string{"key", "enable", hash[:12]}, true},
		{[]string{"user", "disable", "anna"}, false}, {[]string{"user", "enable", "anna"}, true},
		{[]string{"key", "delete", hash}, false},
	} {
		weir(t, append(change.command, "-c", s.file)...)
		began := time.Now()
		waitFor(t, "the change to take effect", func() bool { return opens() == change.opens })
		promised(t, strings.Join(change.command[:2], " "), time.Since(began), 5*time.Second)
	}
	out, err := exec.Command("weir", "key", "enable", hash, "-c", s.file).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "weir key list") {
		t.Errorf("a deleted key was enabled: %v %s", err, out)
	}
}
