package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/config"
)

// A variable that nothing reads is refused with the name that was meant. What other programs make of our name, and what the file names, is let
// through.
func TestUnreadVariables(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(file, []byte("providers: [{id: hut, api_key_env: WEIR_HUT_KEY}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for entry, want := range map[string]string{
		"WEIR_STORE_DNS=postgres://x":                "did you mean WEIR_STORE_DSN?",
		"WEIR_LISTEN=:80":                            "did you mean WEIR_SERVER_LISTEN?",
		"WEIR_DATADIR=/x":                            "did you mean WEIR_DATA_DIR?",
		"WEIR_MASTERKEY=x":                           "did you mean WEIR_MASTER_KEY?",
		"WEIR_PROVIDERS=x":                           "nothing reads this variable",
		"WEIR_SERVER_PORT=80":                        "nothing reads this variable",
		"WEIR_ZZZ=":                                  "", // many deployments set variables to "" instead of leaving them out
		"WEIR_STORE_DSN=x":                           "",
		"WEIR_SERVER_TRUSTED_PROXIES=10.0.0.0/8":     "",
		"WEIR_BUILTIN=openai":                        "",
		"WEIR_MASTER_KEY=x":                          "",
		"WEIR_CONFIG=x":                              "",
		"WEIR_FETCH_ALLOW=x":                         "", // Load says what replaced it
		"WEIR_API_KEY=x":                             "",
		"WEIR_BIN=x":                                 "",
		"WEIR_HUT_KEY=x":                             "",
		"WEIRD=x":                                    "",
		"WEIR_SERVICE_HOST=10.0.0.1":                 "",
		"WEIR_SERVICE_PORT=80":                       "",
		"WEIR_SERVICE_PORT_HTTP=80":                  "",
		"WEIR_PORT=tcp://10.0.0.1:80":                "",
		"WEIR_PORT_8080_TCP=tcp://10.0.0.1:8080":     "",
		"WEIR_PORT_8080_TCP_ADDR=10.0.0.1":           "",
		"WEIR_POSTGRES_SERVICE_HOST=10.0.0.1":        "",
		"WEIR_POSTGRES_PORT_5432_TCP_PORT=5432":      "",
		"WEIR_POSTGRES_PORT=tcp://10.0.0.1:5432":     "",
		"WEIR_MAIL_PASSWORD=env:WEIR_SECRET_OF_MAIL": "",
	} {
		err := config.Unread([]string{"PATH=/bin", entry}, file, "WEIR_CONFIG")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
	if err := config.Unread([]string{"WEIR_MAIL_PASSWORD=env:WEIR_SECRET_OF_MAIL", "WEIR_SECRET_OF_MAIL=x"}, ""); err != nil {
		t.Errorf("a variable that another one names: %v", err)
	}
	err := config.Unread([]string{"WEIR_B=secret-of-nobody", "WEIR_A=secret-of-nobody"}, "")
	if err == nil || strings.Count(err.Error(), "\n") != 1 || strings.Contains(err.Error(), "nobody") {
		t.Errorf("two at once: %v", err)
	}
}

// Each variable that Load reads is known, and each that is known is read: both come from one walk.
func TestKnownVariablesAreRead(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	if _, err := config.Load("", func(name string) (string, bool) { asked[name] = true; return "", false }, nil); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name := range asked {
		if !strings.HasPrefix(name, "WEIR_") {
			continue
		}
		n++
		if err := config.Unread([]string{name + "=x"}, ""); err != nil {
			t.Error(err)
		}
	}
	if n < 200 {
		t.Errorf("%d variables are read, which is fewer than there are settings", n)
	}
}
