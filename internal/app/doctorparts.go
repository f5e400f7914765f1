package app

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/internal/catalog"
	"weir/internal/config"
	"weir/internal/ledger"
	"weir/internal/store/nodedb"
)

// configuration examines the file itself; its content was valid, or nothing would be examined.
func (d *Doctor) configuration() {
	const part = "configuration"
	for _, w := range d.cfg.Warnings() {
		d.say(Weak, part, w.Remedy, "%s", w.Text)
	}
	if d.Path == "" {
		d.good(part, "defaults and WEIR_* variables, without a file")
		return
	}
	d.readable(part, d.Path)
	if holdsSecrets(&d.cfg, d.Path) {
		d.say(Weak, part, "write env:NAME or file:PATH in place of secrets; or let only the user of the node read the file", "%s holds secrets, and others on this machine can read it", d.Path)
		return
	}
	d.good(part, "%s is valid", d.Path)
}

// holdsSecrets reports whether other users of this machine can read secrets in a file.
func holdsSecrets(cfg *config.Config, path string) bool {
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS == "windows" || info.Mode().Perm()&openToOthers == 0 {
		return false
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(cfg.Secrets(), func(s string) bool {
		return len(s) >= 8 && bytes.Contains(text, []byte(s)) // shorter ones occur by chance
	})
}

// readable looks whether the user of the node, to whom its data directory belongs, may read files. Root may read all of them, and so would not
// notice.
func (d *Doctor) readable(part string, files ...string) {
	info, err := os.Stat(d.cfg.DataDir)
	if err != nil {
		return
	}
	user, known := ownerOf(info)
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil || !known {
			continue
		}
		if owner, _ := ownerOf(info); !mayRead(user, owner, info.Mode().Perm()) {
			d.say(Bad, part, "let that user read it, for a service of systemd through a group: docs/install.md#a-service-with-tls", "user %d, to whom %s belongs and who runs the node, cannot read %s", user, d.cfg.DataDir, path)
		}
	}
}

// mayRead reports whether a user may read a file of an owner. The members of its group are not known, so the user may be one.
func mayRead(user, owner uint32, mode fs.FileMode) bool {
	if user == 0 {
		return true
	}
	if user == owner {
		return mode&0o400 != 0
	}
	return mode&0o044 != 0
}

// futureBy is how far ahead of the clock a file may be: file servers have clocks of their own.
const futureBy = time.Minute

// clock compares the machine's clock with what it has already written: it must not have been set back.
func (d *Doctor) clock(now time.Time) {
	const part = "clock"
	newest, name := time.Time{}, ""
	_ = filepath.WalkDir(d.cfg.DataDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read is another finding
		}
		if e.IsDir() && path != d.cfg.DataDir && path != ledger.JournalDir(d.cfg.DataDir) {
			return fs.SkipDir // videos and files of users may be many
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(newest) {
			newest, name = info.ModTime(), path
		}
		return nil
	})
	if ahead := newest.Sub(now); ahead > futureBy {
		d.say(Bad, part, "set the clock by NTP (timedatectl): charges, leases and limits go by it", "it was set back, or is wrong: %s was written %s in the future", name, ahead.Round(time.Second))
		return
	}
	d.good(part, "%s, and no file of the node is newer", now.UTC().Format(time.RFC3339))
}

func (d *Doctor) memory() {
	const part = "memory"
	limit, why := memoryLimit(d.cfg.Runtime.MemoryLimit)
	_, most, known := machineMemory(os.DirFS("/"))
	switch {
	case limit == 0:
		d.say(Weak, part, "set runtime.memory_limit to auto or to a size", "runtime.memory_limit is 0: a node takes calls until the system ends it")
	case known && limit > most:
		d.say(Weak, part, "set runtime.memory_limit to auto or to less; or give the machine more memory", "runtime.memory_limit is %s, but there are only %s: the system ends the node before it refuses calls", config.Size(limit), config.Size(most))
	default:
		d.good(part, "runtime.memory_limit is %s: %s", config.Size(limit), why)
	}
}

// operators examines the listener that asks for no key.
func (d *Doctor) operators() {
	const part = "operators"
	listen := d.cfg.Server.AdminListen
	if listen == config.Off {
		d.say(Weak, part, "set server.admin_listen to an address such as 127.0.0.1:9091", "server.admin_listen is off: there are no metrics, and weir top and the alerts see nothing")
		return
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		d.say(Bad, part, "write HOST:PORT", "server.admin_listen is %q: %v", listen, err)
		return
	}
	switch ip := net.ParseIP(host); {
	case host == "localhost" || ip != nil && ip.IsLoopback():
		d.good(part, "metrics and profiles are on %s, for this machine alone", listen)
	case ip != nil && ip.IsPrivate():
		d.good(part, "metrics and profiles are on %s: whoever reaches this private address reads them without a key", listen)
	default:
		d.say(Weak, part, "listen on loopback or on a private address, and keep others out with a firewall", "metrics and profiles are on %s, and are shown without a key to whoever reaches it", listen)
	}
}

// services connects to what is configured besides providers.
func (d *Doctor) services(ctx context.Context) {
	if p := d.cfg.Upstream.Proxy; p.Through() {
		d.connect(ctx, "proxy", p.Address(), "check upstream.proxy and the firewall: no provider is reached that upstream.no_proxy does not list")
	}
	if m := &d.cfg.Mail; m.Host != "" {
		d.connect(ctx, "mail", net.JoinHostPort(m.Host, strconv.Itoa(m.Port)), "check mail.host, mail.port and the firewall: links to people and notifications are not sent")
	}
	if t := &d.cfg.Tracing.Receiver; t.URL != "" {
		d.connect(ctx, "traces", hostPort(t.URL), "check tracing.endpoint: spans are dropped, and calls go on")
	}
	for _, s3 := range []struct{ part, keep, endpoint string }{
		{"videos", d.cfg.Video.Keep, d.cfg.Video.S3.Endpoint}, {"files", d.cfg.Batch.Keep, d.cfg.Batch.S3.Endpoint},
	} {
		if s3.keep == config.KeepS3 {
			d.connect(ctx, s3.part, hostPort(s3.endpoint), "check the endpoint of the bucket, DNS and the firewall")
		}
	}
	for _, folder := range []struct{ part, setting, keep, path string }{
		{"videos", "video.folder", d.cfg.Video.Keep, d.cfg.Video.Folder}, {"files", "batch.folder", d.cfg.Batch.Keep, d.cfg.Batch.Folder},
	} {
		if folder.keep == config.KeepFolder && folder.path != "" {
			d.writable(folder.part, folder.setting, folder.path)
		}
	}
}

// hostPort is where an address connects to.
func hostPort(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80"}[u.Scheme]+map[string]string{"https": "443"}[u.Scheme])
}

func (d *Doctor) connect(ctx context.Context, part, address, do string) {
	ctx, stop := context.WithTimeout(ctx, reachFor)
	defer stop()
	began := time.Now()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		d.say(Bad, part, do, "no connection to %s: %v", address, err)
		return
	}
	_ = conn.Close()
	d.good(part, "%s answers in %s", address, time.Since(began).Round(time.Millisecond))
}

func (d *Doctor) writable(part, setting, path string) {
	f, err := os.CreateTemp(path, ".doctor-*")
	if err != nil {
		d.say(Bad, part, "make the folder of "+setting+", and let the user who runs weir write there", "%v", err)
		return
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	d.good(part, "%s can be written", path)
}

// nodes compares what the nodes of a database say that they serve.
func (d *Doctor) nodes(ctx context.Context, o *Admin) {
	const part = "nodes"
	all, err := o.Store.Nodes.AllServing(ctx)
	if err != nil {
		d.say(Bad, part, "check the database and its log", "they cannot be read: %v", err)
		return
	}
	now := time.Now()
	all = slices.DeleteFunc(all, func(n nodedb.Serving) bool { return n.What == "" || now.Sub(n.Seen) > seenWithin })
	if len(all) < 2 {
		return
	}
	list := readServing(all[0].What).compare(all[0].Node, all, now)
	for _, what := range list {
		d.say(Bad, part, "give the nodes one version, one configuration and the same keys of providers; restart those that were not", "compared with node %s, %s", all[0].Node, what)
	}
	if list == nil {
		d.good(part, "%d serve the same", len(all))
	}
}

// keys calls each provider with each of its credentials.
func (d *Doctor) keys(ctx context.Context, snap *catalog.Snapshot) {
	var ids []string
	for _, m := range snap.Models() {
		for _, ep := range m.Endpoints {
			if !slices.Contains(ids, ep.Provider.ID) {
				ids = append(ids, ep.Provider.ID)
			}
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		part := "keys " + id
		err := TestProvider(ctx, d.cfg, id, false, func(t Trial) {
			which := t.Type
			if t.Key > 0 {
				which = fmt.Sprintf("%s with credential %d", t.Type, t.Key)
			}
			switch {
			case t.Skipped != "":
				d.good(part, "%s was not called: %s", which, t.Skipped)
			case t.Wrong != "":
				d.say(Bad, part, strings.Join(append(t.Advice, "weir provider test "+id), "; "), "%s: %s: %s", which, t.Wrong, t.Detail)
			default:
				d.good(part, "%s answered in %s", which, t.Took.Round(time.Millisecond))
			}
		})
		if err != nil {
			d.say(Bad, part, "weir provider test "+id, "it cannot be called: %v", err)
		}
	}
}
