//go:build linux || darwin

package folder

import "syscall"

// FreeBytes returns the number of bytes that this process may still write to the volume of a path.
func FreeBytes(path string) (uint64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// UsedPercent returns how full the volume of a path is for this process, as df shows it.
func UsedPercent(path string) (float64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, err
	}
	used := float64(s.Blocks - s.Bfree)
	if used+float64(s.Bavail) == 0 {
		return 0, nil
	}
	return 100 * used / (used + float64(s.Bavail)), nil
}
