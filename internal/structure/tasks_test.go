package structure_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// Packages that run calls use tasks only through their interface: holds, settlement and prices of a task are defined in its package, so
// that a new task changes nothing here.
func TestCarriersNameNoTask(t *testing.T) {
	t.Parallel()
	files, err := readTree(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"Task", "Result", "Made"}
	compared := regexp.MustCompile(`\.Task\s*[!=]= nil|\.Task\.\(`)
	seen := 0
	for _, f := range files {
		if f.pkg != "internal/relay" && f.pkg != "internal/upstream" {
			continue
		}
		seen++
		for _, u := range f.uses {
			if u.pkg == module+"/internal/task" && !slices.Contains(known, u.name) {
				t.Errorf("%s:%d names task.%s: give task.Task a method that says what differs", f.name, u.line, u.name)
			}
		}
		text, err := os.ReadFile(filepath.Join("..", "..", f.name))
		if err != nil {
			t.Fatal(err)
		}
		if at := compared.Find(text); at != nil {
			t.Errorf("%s looks into a request's task (%s): ask its methods, or Request.Chats", f.name, at)
		}
	}
	if seen < 10 {
		t.Fatalf("found only %d files", seen)
	}
}
