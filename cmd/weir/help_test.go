package main

import (
	"regexp"
	"strings"
	"testing"
)

var word = regexp.MustCompile(`'[^']*'|\S+`)

// Each command has an example, and accepts it.
func TestExamples(t *testing.T) {
	t.Parallel()
	leaves := 0
	for _, node := range newProgram().Model.Leaves(true) {
		leaves++
		example, ok := examples[node.Path()]
		if !ok {
			t.Errorf("%s has no example", node.Path())
			continue
		}
		var args []string
		for _, w := range word.FindAllString(example, -1)[1:] {
			args = append(args, strings.Trim(w, "'"))
		}
		ctx, err := newProgram().Parse(args)
		if err != nil {
			t.Errorf("%s: %v", example, err)
		} else if got := ctx.Selected(); got.Path() != node.Path() {
			t.Errorf("the example of %s is one of %s", node.Path(), got.Path())
		} else if !got.Target.Addr().MethodByName("Run").IsValid() {
			t.Errorf("%s cannot be run", got.Path())
		}
	}
	if leaves != len(examples) {
		t.Errorf("%d commands, %d examples", leaves, len(examples))
	}
}
