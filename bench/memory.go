package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// The limits for the memory test.
const (
	mostGrowth  = 64 << 20 // under 1000 streams
	keptPercent = 20       // of the idle memory, and keptMore, may be left after comeBack
	keptMore    = 32 << 20
	comeBack    = time.Minute
)

// memory puts each load on a node of its own, and measures what is resident before, at most, and until a minute after.
func memory(ctx context.Context, s settings) error {
	dir, err := os.MkdirTemp("", "weir-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	mock, err := startSelf(ctx, dir, "mock", "")
	if err != nil {
		return err
	}
	defer mock.stop()
	fmt.Println("| load      | before MB | peak MB | after 15, 30, 60 s |        |")
	fmt.Println("|-----------|----------:|--------:|-------------------:|--------|")
	missed := 0
	loads := []scenario{crowd(500, s.each)}
	for _, sc := range scenarios(s) {
		if sc.name == "streams" || sc.name == "chat5m" || sc.name == "fast" {
			loads = append(loads, sc)
		}
	}
	for _, sc := range loads {
		kept, err := remember(ctx, s, dir, mock, sc)
		if err != nil {
			return err
		}
		if !kept {
			missed++
		}
	}
	if s.strict && missed > 0 {
		return fmt.Errorf("%d loads left memory behind", missed)
	}
	return nil
}

func remember(ctx context.Context, s settings, dir string, mock *process, sc scenario) (bool, error) {
	t, err := startWeir(ctx, s, dir, mock)
	if err != nil {
		return false, err
	}
	defer t.stop()
	if _, err := footprintOf(ctx, t, s.weir); err != nil {
		return false, err
	}
	m, err := measure(ctx, t, sc)
	if err != nil {
		return false, err
	}
	ended := time.Now()
	var left [3]int64
	for i, after := range []time.Duration{comeBack / 4, comeBack / 2, comeBack} {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(time.Until(ended.Add(after))):
		}
		now, err := consumed(t.ids())
		if err != nil {
			return false, err
		}
		left[i] = now.RSS
	}
	kept := left[2] <= m.RSSBefore*(100+keptPercent)/100+keptMore && (sc.name != "streams" || m.RSSPeak-m.RSSBefore <= mostGrowth)
	word := "kept"
	if !kept {
		word = "MISSED"
	}
	fmt.Printf("| %-9s | %9.0f | %7.0f | %18s | %-6s |\n", sc.name, float64(m.RSSBefore)/megabyte, float64(m.RSSPeak)/megabyte,
		fmt.Sprintf("%.0f, %.0f, %.0f", float64(left[0])/megabyte, float64(left[1])/megabyte, float64(left[2])/megabyte), word)
	return kept, nil
}
