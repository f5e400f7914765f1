//go:build !linux && !darwin

package folder

import "math"

// FreeBytes is not implemented on this system. A full volume is detected when a write fails.
func FreeBytes(string) (uint64, error) { return math.MaxUint64, nil }

// UsedPercent is not implemented on this system.
func UsedPercent(string) (float64, error) { return 0, nil }
