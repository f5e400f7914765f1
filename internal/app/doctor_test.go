package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weir/internal/apikey"
	"weir/internal/app"
	"weir/internal/app/apptest"
	"weir/internal/certificate/certificatetest"
	"weir/internal/config"
	"weir/internal/secret"
	"weir/internal/sim"
	"weir/internal/store/sqlite/sqlitetest"
)

// clinic is an installation that is well, but for what a test changes.
func clinic(t *testing.T, change func(*config.Config)) config.Config {
	t.Helper()
	simulator := sim.New(sim.Config{})
	listener := apptest.Listen(t)
	go func() { _ = simulator.Serve(listener) }()
	t.Cleanup(func() { _ = simulator.Close(context.Background()) })
	cfg := config.Default()
	cfg.DataDir, cfg.Builtin.All = t.TempDir(), false
	apptest.Patient(&cfg)
	sqlitetest.New(t, cfg.DataDir)
	if err := os.Chmod(cfg.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	cfg.Providers = []config.Provider{{ID: "hut", BaseURL: "http://" + listener.Addr().String() + "/v1", APIKey: secret.New("x"),
		Models: []config.Offer{{ID: "a/chat", UpstreamID: "chat", Prices: config.Prices{Prompt: "1", Completion: "1"}}}}}
	o, err := app.OpenAdmin(t.Context(), cfg, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Users.CreateAs(t.Context(), "alice", apikey.Administrator, apptest.Administrator); err != nil {
		t.Fatal(err)
	}
	o.Close()
	if change != nil {
		change(&cfg)
	}
	return cfg
}

// encrypted gives the listener a certificate for weir.example.com.
func encrypted(public string, good time.Duration) func(*config.Config) {
	return func(c *config.Config) {
		c.Server.PublicURL = public
		c.Server.TLS = config.TLS{CertFile: filepath.Join(c.DataDir, "cert.pem"), KeyFile: filepath.Join(c.DataDir, "key.pem")}
		certificatetest.Write(c.Server.TLS.CertFile, c.Server.TLS.KeyFile, time.Now().Add(good), "weir.example.com")
	}
}

func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*config.Config)
		part   string
		is     app.State
		what   string
	}{
		{"a ledger in balance", nil, "books", app.Good, "checks of the ledger hold"},
		{"a provider that answers", nil, "provider hut", app.Good, "answers in"},
		{"a provider that does not", func(c *config.Config) { c.Providers[0].BaseURL = "http://127.0.0.1:1/v1" }, "provider hut", app.Bad, "no connection to 127.0.0.1:1"},
		{"a declared provider without a key", func(c *config.Config) { c.Providers = append(c.Providers, config.Provider{ID: "groq"}) }, "provider groq", app.Weak, "has no key"},
		{"no model", func(c *config.Config) { c.Providers = nil }, "catalog", app.Bad, "no model is served"},
		{"a file for a folder", func(c *config.Config) { c.DataDir = filepath.Join(c.DataDir, "weir.db") }, "data directory", app.Bad, "is not a folder"},
		{"a folder that others read", func(c *config.Config) { _ = os.Chmod(c.DataDir, 0o755) }, "data directory", app.Weak, "others on this machine"},
		{"no folder", func(c *config.Config) { c.DataDir += "/none" }, "data directory", app.Weak, "does not exist yet"},
		{"no database", func(c *config.Config) { c.DataDir += "/none" }, "database", app.Weak, "there is no ledger at"},
		{"a database that is none", func(c *config.Config) {
			_ = os.WriteFile(c.StorePath(), []byte(strings.Repeat("rubbish ", 1000)), 0o600)
		}, "database", app.Bad, "cannot be opened"},
		{"a damaged journal", func(c *config.Config) {
			dir := filepath.Join(c.DataDir, "journal")
			_ = os.MkdirAll(dir, 0o700)
			_ = os.WriteFile(filepath.Join(dir, "0000000000000000.wal"), []byte("rubbish"), 0o600)
		}, "journal", app.Bad, "damaged files: "},
		{"open to the network", func(c *config.Config) { c.Server.Listen = "0.0.0.0:8080" }, "network", app.Weak, "without encryption"},
		{"a proxy that nobody trusts", func(c *config.Config) { c.Server.PublicURL = "https://weir.example" }, "network", app.Weak, "no proxy is trusted"},
		{"a proxy", func(c *config.Config) {
			c.Server.PublicURL, c.Server.TrustedProxies = "https://weir.example", []string{"10.0.0.1"}
		}, "network", app.Good, "listens on"},
		{"a certificate that signed itself", encrypted("https://weir.example.com", 30*24*time.Hour), "certificate", app.Weak, "do not know its authority: it is signed by itself"},
		{"no proxy is missed then", encrypted("https://weir.example.com", 30*24*time.Hour), "network", app.Good, "listens on"},
		{"a certificate for another name", encrypted("https://other.example.com", 30*24*time.Hour), "certificate", app.Bad, "not for other.example.com"},
		{"a certificate that ends", encrypted("https://weir.example.com", 15*time.Minute), "certificate", app.Weak, "it ends on"},
		{"a certificate that has ended", encrypted("https://weir.example.com", -time.Minute), "certificate", app.Bad, "it ended on"},
		{"a key of another certificate", func(c *config.Config) {
			encrypted("https://weir.example.com", 24*time.Hour)(c)
			certificatetest.Write(c.Server.TLS.CertFile, filepath.Join(c.DataDir, "another"), time.Now().Add(24*time.Hour), "weir.example.com")
		}, "certificate", app.Bad, "no certificate with its key"},
		{"a certificate and no address", encrypted("", 30*24*time.Hour), "network", app.Weak, "address of this node is not known"},
		{"no certificate in the file", func(c *config.Config) { c.Server.TLS = config.TLS{CertFile: c.DataDir, KeyFile: "none"} }, "certificate", app.Bad, "cannot be read"},
		{"certificates from an authority", func(c *config.Config) {
			c.Server.TLS.ACME.Domains, c.Server.PublicURL = []string{"weir.example.com"}, "https://weir.example.com"
		}, "certificate", app.Good, "will come from https://acme"},
		{"a right clock", nil, "clock", app.Good, "no file of the node is newer"},
		{"a clock that was set back", func(c *config.Config) {
			later := time.Now().Add(time.Hour)
			_ = os.Chtimes(c.StorePath(), later, later)
		}, "clock", app.Bad, "in the future"},
		{"memory of the machine", nil, "memory", app.Good, "runtime.memory_limit is "},
		{"no limit of memory", func(c *config.Config) { c.Runtime.MemoryLimit = 0 }, "memory", app.Weak, "until the system ends it"},
		{"tables", nil, "storage", app.Good, "tables of version "},
		{"operators on loopback", nil, "operators", app.Good, "for this machine alone"},
		{"operators on a private network", func(c *config.Config) { c.Server.AdminListen = "10.0.0.1:9091" }, "operators", app.Good, "without a key"},
		{"operators on every network", func(c *config.Config) { c.Server.AdminListen = ":9091" }, "operators", app.Weak, "without a key"},
		{"no operators' listener", func(c *config.Config) { c.Server.AdminListen = config.Off }, "operators", app.Weak, "is off"},
		{"a mail server that is away", func(c *config.Config) { c.Mail.Host, c.Mail.Port = "127.0.0.1", 1 }, "mail", app.Bad, "no connection to 127.0.0.1:1"},
		{"a receiver of traces that is away", func(c *config.Config) { c.Tracing.Receiver.URL = "http://127.0.0.1:1/v1/traces" }, "traces", app.Bad, "no connection to 127.0.0.1:1"},
		{"a receiver of traces", func(c *config.Config) { c.Tracing.Receiver.URL = c.Providers[0].BaseURL }, "traces", app.Good, "answers in"},
		{"a folder for videos that is not there", func(c *config.Config) { c.Video.Keep, c.Video.Folder = config.KeepFolder, c.DataDir+"/none" }, "videos", app.Bad, "no such file"},
		{"a folder for files", func(c *config.Config) { c.Batch.Keep, c.Batch.Folder = config.KeepFolder, c.DataDir }, "files", app.Good, "can be written"},
		{"a bucket that is away", func(c *config.Config) { c.Video.Keep, c.Video.S3.Endpoint = config.KeepS3, "https://127.0.0.1:1" }, "videos", app.Bad, "no connection to 127.0.0.1:1"},
		{"a key that works", nil, "keys hut", app.Good, "answered in"},
		{"a key that is refused", func(c *config.Config) { c.Providers[0].Models[0].UpstreamID = "chat@fault=u13,status=401" }, "keys hut", app.Bad, "key"},
		{"no file", nil, "configuration", app.Good, "without a file"},
		{"no master key yet", nil, "secrets", app.Good, "makes a master key"},
		{"nobody's rate", func(c *config.Config) {
			c.Providers[0].Models[0].Prices, c.Providers[0].Models[0].PriceUSD = config.Prices{}, config.Prices{Prompt: "1", Completion: "1"}
		}, "rate", app.Weak, "nobody's rate"},
		{"a shop without receipts", func(c *config.Config) { c.Payments.Provider = "yookassa" }, "receipts", app.Weak, "without receipts"},
		{"models without a longest answer", nil, "provider hut", app.Weak, "no max_output"},
		{"old prices", func(c *config.Config) {
			c.Builtin.All, c.PriceLists.StaleAfter = true, time.Nanosecond
			c.Providers = append(c.Providers, config.Provider{ID: "openai", APIKey: secret.New("x"), BaseURL: c.Providers[0].BaseURL})
		},
			"prices", app.Weak, "days old"},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := clinic(t, c.change)
			var found []app.Finding
			app.Doctor{Version: "test", Books: true, Keys: true}.Examine(t.Context(), cfg, func(f app.Finding) { found = append(found, f) })
			is := map[string]app.State{}
			for _, f := range found {
				is[f.Part] = f.Is
			}
			if is["database"] == app.Bad && is["catalog"] == app.Bad {
				t.Errorf("one cause has two remedies: %+v", found)
			}
			for _, f := range found {
				if f.Part == c.part && f.Is == c.is && strings.Contains(f.What, c.what) {
					if f.Is != app.Good && f.Do == "" {
						t.Errorf("%+v names no remedy", f)
					}
					return
				}
			}
			t.Errorf("no finding %s of %s: %q in %+v", c.is, c.part, c.what, found)
		})
	}
}

// An installation that is well has no error, so that the command can be used by a script.
func TestDoctorFindsNothing(t *testing.T) {
	t.Parallel()
	app.Doctor{Version: "test", Books: true}.Examine(t.Context(), clinic(t, nil), func(f app.Finding) {
		if f.Is == app.Bad {
			t.Errorf("%+v", f)
		}
	})
}
