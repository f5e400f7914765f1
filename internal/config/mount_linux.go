package config

import "syscall"

const tmpfs = 0x01021994 // of statfs(2)

// mountOf says how the file system of a file is mounted.
func mountOf(path string) (m mount) {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) == nil {
		const readOnly = 1                                                          // ST_RDONLY
		m.readOnly, m.memory = int64(s.Flags)&readOnly != 0, int64(s.Type) == tmpfs //nolint:unconvert // of another size on other processors
	}
	return m
}
