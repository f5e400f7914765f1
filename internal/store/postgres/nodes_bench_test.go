package postgres_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"weir/internal/store"
	"weir/internal/store/postgres"
	"weir/internal/store/storetest"
)

// BenchmarkNodes also reports the processor time of nodes and server per call, and what the server's connections waited for, sampled.
func BenchmarkNodes(b *testing.B) {
	storetest.NodesBench(b, func(b *testing.B) (*store.Store, func() *store.Store, func() func(int)) {
		dsn := migrated(b)
		another := func() *store.Store {
			s, err := postgres.Open(b.Context(), dsn)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			return s
		}
		conn, err := pgx.Connect(b.Context(), dsn)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = conn.Close(context.Background()) })
		var helper int
		if err := conn.QueryRow(b.Context(), `SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'`).Scan(&helper); err != nil {
			b.Fatal(err)
		}
		server := parentOf(helper)
		return another(), another, func() func(int) {
			start, own, theirs := time.Now(), ownTime(), timeOf(server)
			stop, done := make(chan struct{}), make(chan map[string]int)
			go func() { done <- sample(b.Context(), conn, stop) }()
			return func(calls int) {
				took, own, theirs := time.Since(start), ownTime()-own, timeOf(server)-theirs
				close(stop)
				waits := <-done
				b.ReportMetric(float64(calls)/took.Seconds(), "calls/s")
				b.ReportMetric(float64(own.Nanoseconds())/1000/float64(calls), "node-us/call")
				b.ReportMetric(float64(theirs.Nanoseconds())/1000/float64(calls), "server-us/call")
				b.ReportMetric((own+theirs).Seconds()/took.Seconds(), "processors")
				text := ""
				for _, k := range slices.SortedFunc(maps.Keys(waits), func(x, y string) int { return waits[y] - waits[x] }) {
					text += fmt.Sprintf(" %s %d", k, waits[k])
				}
				fmt.Println("  connections were:" + text)
			}
		}
	})
}

// sample counts what connections are doing, fifty times a second.
func sample(ctx context.Context, conn *pgx.Conn, stop chan struct{}) map[string]int {
	counts := map[string]int{}
	for {
		select {
		case <-stop:
			return counts
		case <-time.After(20 * time.Millisecond):
		}
		rows, err := conn.Query(ctx, `SELECT CASE WHEN state = 'active' THEN COALESCE(wait_event_type || ':' || wait_event, 'working') ELSE 'waiting for the node' END FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state IN ('active', 'idle in transaction')`)
		if err != nil {
			return counts
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return counts
		}
		for _, n := range names {
			counts[n]++
		}
	}
}

func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// stat are the fields of a process after its name, from the state on.
func stat(pid string) []string {
	text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

func parentOf(pid int) string {
	if f := stat(strconv.Itoa(pid)); len(f) > 1 {
		return f[1]
	}
	return ""
}

// timeOf is the processor time of a server and all its processes, those that have ended included.
func timeOf(server string) time.Duration {
	ticks := 0
	add := func(f []string, from, to int) {
		for _, s := range f[from:to] {
			n, _ := strconv.Atoi(s)
			ticks += n
		}
	}
	if f := stat(server); len(f) > 15 {
		add(f, 11, 15)
	}
	list, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range list {
		if f := stat(filepath.Base(dir)); len(f) > 15 && f[1] == server {
			add(f, 11, 13)
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
