package app_test

import (
	"testing"

	"weir/internal/app/apptest"
)

// Whatever an upstream does, the client gets the status of the matrix, in the right envelope, and pays only for what was delivered. With a
// fallback it gets the next model's answer, if no content was sent before.
func TestFailureMatrix(t *testing.T) {
	t.Parallel()
	// Only the tests of timeouts use short ones: elsewhere a busy machine must not run into them.
	patient, hasty := apptest.StartGateway(t), apptest.StartGateway(t, func(s *apptest.Setup) {
		apptest.Hasten(&s.Upstream)
	})
	// Cells mostly wait, and t.Parallel would limit them to the number of processors.
	cells, places := 0, apptest.NewSlots()
	run := func(name string, waits bool, check func(*testing.T)) {
		cells++
		places.Run(waits, func() { t.Run(name, check) })
	}
	for n := range apptest.Matrix {
		c, gw := &apptest.Matrix[n], patient
		if c.Waits {
			gw = hasty
		}
		for _, stream := range []bool{false, true} {
			if !stream && c.Whole == 0 {
				continue
			}
			mode := map[bool]string{false: "/whole", true: "/stream"}[stream]
			for i := range manners {
				if !apptest.Shown(n, i) {
					continue
				}
				m := &manners[i]
				if m.Socket && !stream {
					continue
				}
				run(m.Name+"/"+c.Name(t)+mode, c.Waits, func(t *testing.T) { c.Check(t, gw, m, stream) })
				if m.Provider == "works" { // the fallback does not depend on the wire of the first attempt
					run(m.Name+"/"+c.Name(t)+mode+"/fallback", c.Waits, func(t *testing.T) { c.CheckFallback(t, gw, m, stream) })
				}
			}
		}
	}
	places.Wait()
	t.Logf("%d cells", cells)
	for _, gw := range []*apptest.Gateway{patient, hasty} {
		if n := gw.Sim.Stats().Redirected; n != 0 {
			t.Errorf("%d redirects were followed", n)
		}
		gw.WantBalanced(t)
	}
}
