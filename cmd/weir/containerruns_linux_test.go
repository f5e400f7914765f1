package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var (
	containerProgram = flag.String("container.program", "", "TestContainer runs this program, as make built it, as the image does; it needs root")
	containerApart   = flag.Bool("container.apart", false, "used by TestContainer itself: it runs in namespaces that it may change")
)

// What the container file makes is started as compose.yaml and the documentation have it started: a root that cannot be written, a user that is
// not root and can gain no rights, a volume, and a small /tmp. It becomes healthy, takes commands as docker exec gives them, answers a call, drains, and goes on
// with its volume.
func TestContainer(t *testing.T) {
	if *containerProgram == "" {
		t.Skip("needs root and a built program: make container-test")
	}
	if !*containerApart {
		containerNamespaces(t)
		return
	}
	c := newContainer(t)
	sim := exec.Command(*containerProgram, "sim", "--listen", "127.0.0.1:8081")
	if err := sim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sim.Process.Kill(); _ = sim.Wait() })

	serves := c.serve(t)
	c.checkRights(t, serves)
	key := regexp.MustCompile(`sk-[A-Za-z0-9_-]{20,}`).FindString(c.exec(t, "user", "bootstrap", "root"))
	c.exec(t, "topup", "root", "100")
	c.exec(t, "catalog", "provider", "add", "hut", "base_url=http://127.0.0.1:8081/v1")
	c.exec(t, "catalog", "endpoint", "add", "hut", "test/hut", "upstream_id=chat", "price_usd.prompt=1", "price_usd.completion=2", "context_length=100000", "max_output=4000")
	c.until(t, "the model to be there", func() bool {
		status, _ := c.ask(t, http.MethodGet, "/v1/models/test/hut", key, "")
		return status == http.StatusOK
	})
	const call = `{"model":"test/hut","messages":[{"role":"user","content":"hello"}]}`
	if status, text := c.ask(t, http.MethodPost, "/v1/chat/completions", key, call); status != http.StatusOK {
		t.Errorf("a call: %d %s", status, text)
	}

	stream := c.send(t, http.MethodPost, "/v1/chat/completions", key, `{"model":"test/hut","stream":true,"messages":[{"role":"user","content":"[[sim frames=20 gap=50ms]] hello"}]}`)
	defer stream.Body.Close()
	if err := serves.Process.Signal(syscall.SIGTERM); err != nil { // STOPSIGNAL, which TestContainerFile checks
		t.Fatal(err)
	}
	if text, err := io.ReadAll(stream.Body); err != nil || !bytes.HasSuffix(text, []byte("data: [DONE]\n\n")) {
		t.Errorf("the stream was cut by the end of the container: %v, %s", err, text)
	}
	if err := serves.Wait(); err != nil {
		t.Errorf("the container ended: %v\n%s", err, c.log.String())
	}

	serves = c.serve(t)
	if said := c.exec(t, "ledger", "verify"); !strings.Contains(said, "balanced") {
		t.Error(said)
	}
	var is struct {
		Data struct {
			Usage json.Number `json:"total_usage"`
		}
	}
	if status, text := c.ask(t, http.MethodGet, "/v1/credits", key, ""); status != http.StatusOK || json.Unmarshal(text, &is) != nil || is.Data.Usage == "0" {
		t.Errorf("another container with the volume: %d %s", status, text)
	}
	_ = serves.Process.Kill()
	_ = serves.Wait()
}

// containerNamespaces runs the test in namespaces of its own: whatever it makes there is gone with it, however it ends.
func containerNamespaces(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestContainer$", "-test.v", "-container.apart", "-container.program="+*containerProgram)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS}
	runtime.LockOSThread() // Pdeathsig comes with the end of the thread
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v (it needs root, and CAP_SYS_ADMIN and CAP_NET_ADMIN if this is a container)", err)
	}
}

// container is the root file system that the container file describes, and how to start programs there.
type container struct {
	root     string
	uid, gid uint32
	env      []string
	entry    []string
	health   []string
	log      bytes.Buffer
}

func newContainer(t *testing.T) *container {
	t.Helper()
	c := &container{root: t.TempDir()}
	mount := func(source, target, kind string, flags uintptr, data string) {
		if err := os.MkdirAll(target, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount(source, target, kind, flags, data); err != nil {
			t.Fatalf("%s: %v", target, err)
		}
		if strings.HasPrefix(target, c.root) {
			t.Cleanup(func() { _ = syscall.Unmount(target, syscall.MNT_DETACH) }) // so that the folder can be removed
		}
	}
	mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	mount("proc", "/proc", "proc", 0, "")
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	i := image(t)
	if _, err := fmt.Sscanf(one(t, i, "USER"), "%d:%d", &c.uid, &c.gid); err != nil {
		t.Fatal(err)
	}
	c.entry = append(execForm(t, one(t, i, "ENTRYPOINT")), execForm(t, one(t, i, "CMD"))...)
	_, health, _ := strings.Cut(one(t, i, "HEALTHCHECK"), "CMD ")
	c.health = execForm(t, health)
	own := func(path string) {
		if err := os.Chown(path, int(c.uid), int(c.gid)); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range i["COPY"] {
		f := strings.Fields(line)
		source, target := f[len(f)-2], filepath.Join(c.root, f[len(f)-1])
		switch {
		case source == "/weir": // what make program builds
			copyFile(t, *containerProgram, target, 0o755)
		case source == "/data", source == "/tmpdir": // empty folders that the build makes
			if err := os.Mkdir(target, 0o700); err != nil {
				t.Fatal(err)
			}
			own(target)
		case strings.HasPrefix(source, "/src/"): // a file of this repository
			copyFile(t, "../../"+strings.TrimPrefix(source, "/src/"), target, 0o644)
		default:
			copyFile(t, source, filepath.Join(target, filepath.Base(source)), 0o644)
		}
	}
	volume := filepath.Join(t.TempDir(), "volume")
	if err := os.Mkdir(volume, 0o700); err != nil {
		t.Fatal(err)
	}
	own(volume)
	for _, dir := range []string{"proc", "dev"} { // which each container has
		if err := os.Mkdir(filepath.Join(c.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mount(c.root, c.root, "", syscall.MS_BIND, "")
	mount("", c.root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	mount("proc", filepath.Join(c.root, "proc"), "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, "")
	mount(volume, filepath.Join(c.root, one(t, i, "VOLUME")), "", syscall.MS_BIND, "")
	mount("tmpfs", filepath.Join(c.root, "tmp"), "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, fmt.Sprintf("uid=%d,gid=%d,mode=0700,size=64m", c.uid, c.gid))
	for _, dir := range []string{"/", "/etc"} {
		if err := os.WriteFile(filepath.Join(c.root, dir, "new"), nil, 0o600); err == nil {
			t.Errorf("%s of the container can be written", dir)
		}
	}
	return c
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, mode); err != nil {
		t.Fatal(err)
	}
}

// command is a program in the container, with its user, who gains no rights. It must be started with begin.
func (c *container) command(args []string) *exec.Cmd {
	return &exec.Cmd{Path: args[0], Args: args, Env: c.env, Dir: "/", SysProcAttr: &syscall.SysProcAttr{
		Chroot: c.root, Credential: &syscall.Credential{Uid: c.uid, Gid: c.gid}, Pdeathsig: syscall.SIGKILL,
	}}
}

// begin starts a command in a thread that no other program is started in, because it and its children can gain no rights any more.
func begin(cmd *exec.Cmd) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // for ever: the thread ends with the program that was started in it
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			started <- err
			return
		}
		err := cmd.Start()
		started <- err
		if err == nil {
			var info unix.Siginfo
			_ = unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		}
	}()
	return <-started
}

// serve starts the container and waits until it is healthy.
func (c *container) serve(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := c.command(c.entry)
	cmd.Stderr = &c.log
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID // it is the first process there
	if err := begin(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	c.until(t, "the container to be healthy", func() bool {
		health := c.command(c.health)
		return begin(health) == nil && health.Wait() == nil
	})
	return cmd
}

// exec runs the program in the container beside the node.
func (c *container) exec(t *testing.T, args ...string) string {
	t.Helper()
	var out, errors bytes.Buffer
	cmd := c.command(append([]string{c.entry[0]}, args...))
	cmd.Stdout, cmd.Stderr = &out, &errors
	err := begin(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", args, err, out.String(), errors.String())
	}
	return out.String()
}

// checkRights looks at the rights of the node's process, as the system has them.
func (c *container) checkRights(t *testing.T, node *exec.Cmd) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(node.Process.Pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		is[name], _, _ = strings.Cut(strings.TrimSpace(value), "\t")
	}
	for name, want := range map[string]string{"Uid": strconv.Itoa(int(c.uid)), "Gid": strconv.Itoa(int(c.gid)), "Groups": "", "CapEff": "0000000000000000", "CapPrm": "0000000000000000", "NoNewPrivs": "1"} {
		if is[name] != want {
			t.Errorf("%s of the node is %q, want %q", name, is[name], want)
		}
	}
}

func (c *container) send(t *testing.T, method, path, key, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%v\n%s", err, c.log.String())
	}
	return res
}

func (c *container) ask(t *testing.T, method, path, key, body string) (int, []byte) {
	t.Helper()
	res := c.send(t, method, path, key, body)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, text
}

// until waits for a state. The deadline only prevents a hang.
func (c *container) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.After(time.Minute); !is(); {
		select {
		case <-deadline:
			t.Fatalf("gave up waiting for %s\n%s", what, c.log.String())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
