package app

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// trim lets the kernel take back the pages of the program that only the start has read: initial values, migrations, the built-in
// catalog. What is needed again comes back from the page cache, a few microseconds for 64 KiB. It is about 10 MB of an idle node's 30.
//
// Only a program at fixed addresses is trimmed: in one that the loader has moved, pages that look unchanged may hold relocations.
func trim() {
	exe, err := os.Executable()
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer func() { _ = maps.Close() }()
	fixed := false
	for lines := bufio.NewScanner(maps); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) < 6 || f[5] != exe {
			continue
		}
		from, to, ok := span(f[0])
		fixed = fixed || ok && from == fixedBase
		if ok && fixed && (f[1] == "r-xp" || f[1] == "r--p") {
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED) // advice: nothing depends on it
		}
	}
}

// fixedBase is where the linker puts a program that is not to be moved.
const fixedBase = 0x400000

func span(text string) (from, to uintptr, ok bool) {
	a, b, _ := strings.Cut(text, "-")
	x, err := strconv.ParseUint(a, 16, 64)
	y, err2 := strconv.ParseUint(b, 16, 64)
	return uintptr(x), uintptr(y), err == nil && err2 == nil && x < y
}
