package store_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// expandsSince is the first migration that the version before it must be able to run beside. Older ones are as they are.
const expandsSince = 33

// contracts are statements that take away what the version before reads or writes, or that refuse its rows.
var contracts = []struct {
	what string
	is   *regexp.Regexp
}{
	{"drops a table", regexp.MustCompile(`(?i)\bDROP\s+TABLE\b`)},
	{"drops a column", regexp.MustCompile(`(?i)\bDROP\s+COLUMN\b`)},
	{"renames", regexp.MustCompile(`(?i)\bRENAME\s+(COLUMN|TO)\b|\bRENAME\s+\w+\s+TO\b`)},
	{"changes the type of a column", regexp.MustCompile(`(?i)\bALTER\s+COLUMN\s+\S+\s+(SET\s+DATA\s+)?TYPE\b`)},
	{"forbids NULL in a column that there is", regexp.MustCompile(`(?i)\bSET\s+NOT\s+NULL\b`)},
	{"takes a default away", regexp.MustCompile(`(?i)\bDROP\s+DEFAULT\b`)},
}

var (
	comment   = regexp.MustCompile(`--[^\n]*`)
	addColumn = regexp.MustCompile(`(?i)\bADD\s+COLUMN\b`)
	notNull   = regexp.MustCompile(`(?i)\bNOT\s+NULL\b`)
	fallback  = regexp.MustCompile(`(?i)\bDEFAULT\b|\bGENERATED\b`)
	created   = regexp.MustCompile(`(?i)\bCREATE\s+TABLE\s+(\w+)`)
	dropped   = regexp.MustCompile(`(?i)\bDROP\s+TABLE\s+(\w+)`)
	// contracted is a line of a migration that says since which version nothing needs what it takes away.
	contracted = regexp.MustCompile(`(?m)^-- contract: unused since \S+$`)
)

// contraction says what of a migration the version before could not live with, "" for nothing.
func contraction(text string) string {
	up, _, _ := strings.Cut(text, "-- +goose Down")
	if contracted.MatchString(up) {
		return ""
	}
	up = comment.ReplaceAllString(up, "")
	own := map[string]bool{} // tables that the migration makes itself
	for statement := range strings.SplitSeq(up, ";") {
		if m := dropped.FindStringSubmatch(statement); m != nil && own[m[1]] {
			continue
		}
		for _, c := range contracts {
			if c.is.MatchString(statement) {
				return c.what + ": " + strings.Join(strings.Fields(statement), " ")
			}
		}
		for column := range strings.SplitSeq(statement, ",") { // several columns of one statement
			if addColumn.MatchString(column) && notNull.MatchString(column) && !fallback.MatchString(column) {
				return "adds a column that older inserts leave out, without a default: " + strings.Join(strings.Fields(column), " ")
			}
		}
		if m := created.FindStringSubmatch(statement); m != nil {
			own[m[1]] = true
		}
	}
	return ""
}

// Nodes of two versions may run on one database, so a migration only adds. What nothing reads any more goes in a later version.
func TestMigrationsExpand(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"postgres", "sqlite"} {
		old, err := filepath.Glob(filepath.Join(engine, "migrations", "before1.0", "*.sql"))
		if err != nil || len(old) == 0 {
			t.Fatalf("%d migrations of %s before 1.0, %v", len(old), engine, err)
		}
		files, err := filepath.Glob(filepath.Join(engine, "migrations", "*.sql"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d migrations of %s, %v", len(files), engine, err)
		}
		files = append(files, old...)
		for _, file := range files {
			digits, _, _ := strings.Cut(filepath.Base(file), "_")
			number, err := strconv.Atoi(digits)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if what := contraction(string(text)); what != "" && number >= expandsSince {
				t.Errorf("%s %s\nThe version before still uses it. See docs/decisions/migrations.md.", file, what)
			}
		}
	}
}

func TestContraction(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"CREATE TABLE a (b TEXT NOT NULL);":                                                   "",
		"ALTER TABLE a ADD COLUMN b BIGINT;":                                                  "",
		"ALTER TABLE a ADD COLUMN b BIGINT NOT NULL DEFAULT 0;":                               "",
		"CREATE INDEX a_b ON a (b);\nDROP INDEX a_c;":                                         "",
		"-- it was wrong to DROP COLUMN b\nCREATE INDEX a_b ON a (b);":                        "",
		"ALTER TABLE a ADD COLUMN b BIGINT;\n-- +goose Down\nALTER TABLE a DROP COLUMN b;":    "",
		"CREATE TABLE c (b TEXT);\nDROP TABLE c;":                                             "",
		"-- contract: unused since v0.9.0\nALTER TABLE a DROP COLUMN b;":                      "",
		"ALTER TABLE a DROP COLUMN b;":                                                        "drops a column",
		"alter table a\n  drop column b;":                                                     "drops a column",
		"DROP TABLE a;":                                                                       "drops a table",
		"ALTER TABLE a RENAME COLUMN b TO c;":                                                 "renames",
		"ALTER TABLE a RENAME b TO c;":                                                        "renames",
		"ALTER TABLE a RENAME TO c;":                                                          "renames",
		"ALTER TABLE a ALTER COLUMN b TYPE BIGINT;":                                           "changes the type",
		"ALTER TABLE a ALTER COLUMN b SET NOT NULL;":                                          "forbids NULL",
		"ALTER TABLE a ALTER COLUMN b DROP DEFAULT;":                                          "takes a default away",
		"ALTER TABLE a ADD COLUMN b BIGINT NOT NULL;":                                         "adds a column",
		"ALTER TABLE a ADD COLUMN c BIGINT NOT NULL DEFAULT 0, ADD COLUMN b BIGINT NOT NULL;": "adds a column",
	} {
		got := contraction("-- +goose Up\n" + text)
		if (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
