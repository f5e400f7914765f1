package report_test

import (
	"encoding/csv"
	"strings"
	"testing"

	"weir/internal/report"
)

// Cells of users run in no spreadsheet, wherever it parts the line: at commas as the file says, or at semicolons, tabs and line ends whatever the quotes
// are, as those of many countries do (OWASP/www-community#443).
func TestNoFormulaInAnySpreadsheet(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain", "": "", "Анна Петрова": "Анна Петрова", "gpt-4o": "gpt-4o", "x+y=z": "x+y=z", "a,b": "a,b", `say "hi"`: `say "hi"`, "a; b": "a; b",
		"=1+1": "'=1+1", "-5": "'-5", "@SUM(1)": "'@SUM(1)", "|calc": "'|calc", " =1": " '=1",
		"x;=1+1": "x;'=1+1", "x; =1": "x; '=1", `x;"=1"`: `x;"'=1"`, "x;\"\" =1": "x;\"\" '=1", "a\t=1": "a\t'=1", "a\n=1": "a\n'=1", "a\r\n@b": "a'\n'@b", ";;-1": ";;'-1",
	} {
		var s report.Sheet
		s.Texts("first", text, "last")
		s.End()
		rows, err := csv.NewReader(strings.NewReader(string(s.Bytes))).ReadAll()
		if err != nil || len(rows) != 1 || len(rows[0]) != 3 || rows[0][1] != want {
			t.Errorf("%q is %q, %v; want %q", text, rows, err, want)
		}
		cells := strings.FieldsFunc(strings.TrimSuffix(string(s.Bytes), "\r\n"), func(r rune) bool { return strings.ContainsRune(";\t\r\n", r) })
		for _, c := range cells {
			if c = strings.TrimLeft(c, `" `); c != "" && strings.ContainsRune("=+-@|", rune(c[0])) {
				t.Errorf("%q has the cell %q in a spreadsheet that parts at semicolons", text, c)
			}
		}
	}
}

// A text that needs no quotes has none.
func TestPlainCells(t *testing.T) {
	t.Parallel()
	var s report.Sheet
	s.Texts("gpt-4o", "a+b@example.org", "Анна", "")
	s.End()
	if got := string(s.Bytes); got != "gpt-4o,a+b@example.org,Анна,\r\n" {
		t.Errorf("%q", got)
	}
}
