package app

import (
	"strings"
	"testing"
	"testing/fstest"
)

// The limit follows the tightest of the machine and the groups around the process, within bounds. That groups further out count, too, was
// found in KimMachineGun/automemlimit#31.
func TestChosenMemory(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	const meminfo = "MemFree: 1 kB\nMemTotal:       16777216 kB\nSwapTotal: 999999999 kB\n" // 16 GiB
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
		from  string
	}{
		"nothing is known":      {nil, gib, "unknown"},
		"rubbish":               {map[string]string{"proc/meminfo": "MemTotal: lots kB\n", "proc/self/cgroup": "0::\n::\nx", "sys/fs/cgroup/memory.max": "-5"}, gib, "unknown"},
		"a machine":             {map[string]string{"proc/meminfo": "MemTotal: 4194304 kB\n"}, 3 * gib, "machine has 4096"},
		"a large machine":       {map[string]string{"proc/meminfo": meminfo}, 8 * gib, "machine"},
		"a tiny machine":        {map[string]string{"proc/meminfo": "MemTotal: 131072 kB\n"}, gib / 4, "machine has 128 MiB"},
		"a group without limit": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 8 * gib, "machine"},
		"a group above the machine": {map[string]string{"proc/meminfo": "MemTotal: 4194304 kB\n", "proc/self/cgroup": "0::/a\n",
			"sys/fs/cgroup/a/memory.max": "8589934592\n"}, 3 * gib, "machine"},
		"v2, its own group": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/system.slice/weir.service\n",
			"sys/fs/cgroup/system.slice/weir.service/memory.max": "2147483648\n", "sys/fs/cgroup/other/memory.max": "1"}, gib / 2 * 3, "/system.slice/weir.service"},
		"v2, the group around it is tighter": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/kube/pod/c\n",
			"sys/fs/cgroup/kube/pod/c/memory.max": "max\n", "sys/fs/cgroup/kube/pod/memory.max": "1073741824\n", "sys/fs/cgroup/kube/memory.max": "4294967296\n"}, gib / 4 * 3, "/kube/pod has"},
		"v2, a container with its own root": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824"}, gib / 4 * 3, "group /"},
		"v2, moved out of the root":         {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "1073741824"}, gib / 4 * 3, "group /"},
		"v1": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "12:cpu,cpuacct:/a\n9:memory:/a\n1:name=systemd:/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1073741824\n"}, gib / 4 * 3, "/a"},
		"v1, a container that sees the host's path": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "9:memory:/docker/0123\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n"}, gib / 4 * 3, "group /"},
		"v1 without limit": {map[string]string{"proc/meminfo": "MemTotal: 4194304 kB\n", "proc/self/cgroup": "9:memory:/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "9223372036854771712\n"}, 3 * gib, "machine"},
		"both versions": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "9:memory:/a\n0::/a\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "2147483648\n", "sys/fs/cgroup/a/memory.max": "max\n"}, gib / 2 * 3, "/a"},
	} {
		files := fstest.MapFS{}
		for path, text := range c.files {
			files[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, why := chosenMemory(files); got != c.want || !strings.Contains(why, c.from) {
			t.Errorf("%s: %d because %q, want %d because of %q", name, got, why, c.want, c.from)
		}
	}
	if got, _ := memoryLimit(123); got != 123 {
		t.Errorf("a limit that is set became %d", got)
	}
}
