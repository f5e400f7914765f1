package postgres

import (
	"testing"
	"time"

	"weir/internal/store/sqldb"
)

// The DSN overrides our settings.
func TestConfigure(t *testing.T) {
	t.Parallel()
	const dsn = "postgres://weir:geheim@db.local:5432/weir"
	for name, c := range map[string]struct {
		options                       string
		statement, idle, program      string
		connections                   int32
		connect                       time.Duration
		mostConnections, otherSetting bool
	}{
		"nothing said": {"", "5000", "10000", "weir", 0, 5 * time.Second, true, false},
		"all said": {"?statement_timeout=100&idle_in_transaction_session_timeout=200&application_name=x&pool_max_conns=3&connect_timeout=7&search_path=y",
			"100", "200", "x", 3, 7 * time.Second, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, err := configure(dsn+c.options, sqldb.QueryFor)
			if err != nil {
				t.Fatal(err)
			}
			p := cfg.ConnConfig.RuntimeParams
			if p["statement_timeout"] != c.statement || p["idle_in_transaction_session_timeout"] != c.idle || p["application_name"] != c.program {
				t.Errorf("%v", p)
			}
			if _, other := p["search_path"]; other != c.otherSetting {
				t.Errorf("%v", p)
			}
			if cfg.MaxConns != c.connections && !(c.mostConnections && cfg.MaxConns >= 10) {
				t.Errorf("%d connections", cfg.MaxConns)
			}
			if cfg.ConnConfig.ConnectTimeout != c.connect {
				t.Errorf("connects for %s", cfg.ConnConfig.ConnectTimeout)
			}
		})
	}
}
