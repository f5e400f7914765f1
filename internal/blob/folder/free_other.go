//go:build !linux && !darwin

package folder

import "math"

// FreeBytes is not implemented on this system. A full volume is detected when a write fails.
func FreeBytes(string) (uint64, error) { return math.MaxUint64, nil }

// UsedPercent is 0 where this system does not say it: not known.
func UsedPercent(string) (float64, error) { return 0, nil }
