package main_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"weir/internal/store/postgres/pgtest"
)

var listsOfRepository string

// The commands do what their help says, and their errors say what to do.
func TestScripts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a process for each command: runs without the race detector")
	}
	runtime.Gosched() // the longest tests take their places before the scripts do, and do not begin when these have ended
	var err error
	if listsOfRepository, err = filepath.Abs(filepath.Join("..", "..", "internal", "catalog", "sources")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"postgres": func(ts *testscript.TestScript, _ bool, _ []string) { ts.Setenv("WEIR_STORE_DSN", pgtest.New(t)) },
			"dump":     func(ts *testscript.TestScript, _ bool, args []string) { scriptDump(t, ts, args) },
			"lists":    scriptLists, "node": scriptNode, "ask": scriptAsk, "keep": scriptKeep, "tamper": scriptTamper,
		},
	})
}

// scriptLists writes the public price lists of the repository into a folder, without models: VENDOR/MODEL of models.dev.
func scriptLists(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: lists DIR VENDOR/MODEL...")
	}
	to := ts.MkAbs(args[0])
	ts.Check(os.CopyFS(to, os.DirFS(listsOfRepository)))
	packed := filepath.Join(to, "models-dev", "providers.json.gz")
	f, err := os.Open(packed)
	ts.Check(err)
	r, err := gzip.NewReader(f)
	ts.Check(err)
	var list map[string]map[string]any
	ts.Check(json.NewDecoder(r).Decode(&list))
	ts.Check(f.Close())
	for _, id := range args[1:] {
		vendor, model, _ := strings.Cut(id, "/")
		models, _ := list[vendor]["models"].(map[string]any)
		if models[model] == nil {
			ts.Fatalf("the lists have no %s", id)
		}
		delete(models, model)
	}
	text, err := json.Marshal(list)
	ts.Check(err)
	ts.Check(os.WriteFile(strings.TrimSuffix(packed, ".gz"), text, 0o600))
	ts.Check(os.Remove(packed))
}

// scriptNode waits for the JSON line that a demo in the background writes to a file, and sets its values as $URL, $KEY, $MANAGEMENT.
func scriptNode(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: node FILE")
	}
	deadline := time.After(3 * time.Minute)
	for pause := time.Millisecond; ; pause = min(2*pause, 64*time.Millisecond) {
		line, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && bytes.HasSuffix(line, []byte("\n")) {
			var n struct {
				BaseURL       string `json:"base_url"`
				APIKey        string `json:"api_key"`
				ManagementKey string `json:"management_key"`
				AdminURL      string `json:"admin_url"`
				Models        []string
				PID           int
			}
			ts.Check(json.Unmarshal(line, &n))
			if n.BaseURL == "" || n.AdminURL == "" || len(n.Models) == 0 || n.PID == 0 {
				ts.Fatalf("values are missing: %s", line)
			}
			ts.Setenv("URL", n.BaseURL)
			ts.Setenv("ADMIN", n.AdminURL)
			ts.Setenv("KEY", n.APIKey)
			ts.Setenv("MANAGEMENT", n.ManagementKey)
			return
		}
		select {
		case <-time.After(pause):
		case <-deadline:
			ts.Fatalf("no line in %s", args[0])
		}
	}
}

// scriptDump copies a database of PostgreSQL to the one in $WEIR_STORE_DSN, with the documented commands.
func scriptDump(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: dump DSN")
	}
	file := ts.MkAbs("weir.dump")
	for _, cmd := range []*exec.Cmd{
		exec.Command(pgtest.Program(t, "pg_dump"), "--format=custom", "--file="+file, args[0]),
		exec.Command(pgtest.Program(t, "pg_restore"), "--no-owner", "--dbname="+ts.Getenv("WEIR_STORE_DSN"), file),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			ts.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
}

// scriptAsk sends one chat request to $URL with $KEY and sets $GENERATION to the id of the answer. It also requests the record from the
// node, after which other processes find it in the store.
func scriptAsk(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: ask STATUS MODEL")
	}
	body := fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"What is a weir?"}]}`, args[1])
	status, answer := scriptRequest(ts, http.MethodPost, "/v1/chat/completions", body)
	if status != args[0] {
		ts.Fatalf("status %s: %s", status, answer)
	}
	if status != "200" {
		return
	}
	var a struct{ ID string }
	ts.Check(json.Unmarshal(answer, &a))
	if status, answer := scriptRequest(ts, http.MethodGet, "/v1/generation?id="+a.ID, ""); status != "200" {
		ts.Fatalf("the generation: status %s: %s", status, answer)
	}
	ts.Setenv("GENERATION", a.ID)
}

func scriptRequest(ts *testscript.TestScript, method, path, body string) (status string, answer []byte) {
	req, err := http.NewRequest(method, ts.Getenv("URL")+path, strings.NewReader(body))
	ts.Check(err)
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("KEY"))
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	ts.Check(err)
	return fmt.Sprint(res.StatusCode), answer
}

// scriptTamper changes the database directly: the one in $WEIR_STORE_DSN, or weir.db in a data directory.
func scriptTamper(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: tamper DIR SQL")
	}
	driver, dsn, unlock := "sqlite", ts.MkAbs(args[0]+"/weir.db"), "DROP TRIGGER IF EXISTS audit_keep_rows; DROP TRIGGER IF EXISTS audit_keep_all; "
	if v := ts.Getenv("WEIR_STORE_DSN"); v != "" {
		driver, dsn, unlock = "pgx", v, "SET session_replication_role = replica; "
	}
	db, err := sql.Open(driver, dsn)
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(unlock + args[1])
	ts.Check(err)
}

// scriptKeep sets a variable to one field of one line of the last output. Fields count from 1, negative ones from the end.
func scriptKeep(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: keep VARIABLE LINE FIELD")
	}
	var line, field int
	_, err := fmt.Sscan(args[1]+" "+args[2], &line, &field)
	ts.Check(err)
	lines := strings.Split(ts.ReadFile("stdout"), "\n")
	if line > len(lines) {
		ts.Fatalf("no line %d", line)
	}
	fields := strings.Fields(lines[line-1])
	if field < 0 {
		field += len(fields) + 1
	}
	if field < 1 || field > len(fields) {
		ts.Fatalf("no field %s in %q", args[2], lines[line-1])
	}
	ts.Setenv(args[0], fields[field-1])
}
