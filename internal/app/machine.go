package app

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"weir/internal/config"
)

// Bounds of a limit of memory that is not set. A node cannot serve with less than the least; one that uses more than the most has a fault
// more often than work, and should say so before the machine swaps.
const (
	leastMemory   = 256 << 20
	mostMemory    = 8 << 30
	unknownMemory = 1 << 30
)

// memoryLimit returns the limit for the heap, or 0, and why it is so much.
func memoryLimit(set config.Memory) (limit int64, why string) {
	if set != config.AutoMemory {
		return int64(set), "as it is set"
	}
	return chosenMemory(os.DirFS("/"))
}

// chosenMemory is three quarters of the memory of the process, within bounds: the rest is for stacks, files and other processes.
func chosenMemory(root fs.FS) (limit int64, why string) {
	from, all, known := machineMemory(root)
	if !known {
		return unknownMemory, "how much memory there is, is unknown"
	}
	return min(max(all/4*3, leastMemory), mostMemory), fmt.Sprintf("%s has %d MiB", from, all>>20)
}

// machineMemory returns how many bytes the process may use, and who says so: the machine, or the tightest of the control groups around it.
func machineMemory(root fs.FS) (from string, bytes int64, known bool) {
	bytes = math.MaxInt64
	look := func(who string, n int64, ok bool) {
		if ok && n > 0 && n < bytes {
			from, bytes, known = who, n, true
		}
	}
	n, ok := totalMemory(root)
	look("the machine", n, ok)
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) { // 0::/system.slice/weir.service, or 9:memory:/docker/0123
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		base, file := "sys/fs/cgroup", "memory.max"
		if controllers != "" {
			base, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		if controllers != "" && !strings.Contains(","+controllers+",", ",memory,") {
			continue
		}
		// A limit may be set on any group around the process. In a container the path may be that of the host, while the container's own group
		// is the root of what is mounted: that is the last one here.
		for group = path.Clean("/" + group); ; group = path.Dir(group) {
			n, ok := wholeNumber(root, path.Join(base, group, file))
			look("the control group "+group, n, ok)
			if group == "/" {
				break
			}
		}
	}
	return from, bytes, known
}

func wholeNumber(root fs.FS, name string) (int64, bool) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64) // "max": no limit
	return n, err == nil
}

func totalMemory(root fs.FS) (int64, bool) {
	text, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line) // MemTotal:  16384000 kB
		if len(fields) != 3 || fields[0] != "MemTotal:" {
			continue
		}
		n, err := strconv.ParseInt(fields[1], 10, 64)
		return n << 10, err == nil && n < math.MaxInt64>>10
	}
	return 0, false
}
