package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
)

// residentMB returns the current and the maximum memory of the gateway's process.
func (n *node) residentMB() (now, peak int) {
	n.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.cmd.Process.Pid))
	if err != nil {
		n.t.Skip("there is no /proc to read a process's memory from")
	}
	read := func(name string) int {
		found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(status)
		if found == nil {
			n.t.Fatalf("no %s in %s", name, status)
		}
		kilobytes, _ := strconv.Atoi(string(found[1]))
		return kilobytes / 1024
	}
	return read("VmRSS"), read("VmHWM")
}

// downloads lets clients read a video of that size at the same time. It returns the gateway's memory before, and the maximum.
func downloads(t testing.TB, keep string, clients int, bytes int64) (before, peak int) {
	n := startNode(t, startStudio(t).sim, keep)
	job := n.ended(n.video("films/plain", fmt.Sprintf("[[sim bytes=%d]] A heron.", bytes)).ID)
	if job.Status != "completed" {
		t.Fatalf("the job is %+v\n%s", job, n.log.String())
	}
	before, _ = n.residentMB()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), "GET", n.url+"/v1/videos/"+job.ID+"/content", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+n.key)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer res.Body.Close()
			if got, err := io.Copy(io.Discard, res.Body); err != nil || got != bytes || res.StatusCode != http.StatusOK {
				t.Errorf("status %d, %d bytes of %d: %v", res.StatusCode, got, bytes, err)
			}
		})
	}
	all.Wait()
	_, peak = n.residentMB()
	return before, peak
}

// Fifty concurrent downloads take some buffers each in the gateway's memory, never a whole video.
func TestVideoDownloadsUseLittleMemory(t *testing.T) {
	for _, keep := range []string{"provider", "folder"} {
		t.Run(keep, func(t *testing.T) {
			const clients, bytes = 50, 20 << 20
			before, peak := downloads(t, keep, clients, bytes)
			t.Logf("%d downloads of %d MB: %d MB before, %d MB at most", clients, bytes>>20, before, peak)
			if peak > before+100 {
				t.Errorf("memory went from %d to %d MB", before, peak)
			}
		})
	}
}

// The figures of bench/README.md: go test -run xxx -bench VideoDownloads -benchtime 1x
func BenchmarkVideoDownloads(b *testing.B) {
	for _, keep := range []string{"provider", "folder"} {
		b.Run(keep, func(b *testing.B) {
			const clients, bytes = 50, 200 << 20
			b.SetBytes(clients * bytes)
			for b.Loop() {
				before, peak := downloads(b, keep, clients, bytes)
				b.ReportMetric(float64(before), "MB-before")
				b.ReportMetric(float64(peak), "MB-peak")
			}
		})
	}
}
