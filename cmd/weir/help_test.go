package main

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
)

var word = regexp.MustCompile(`'[^']*'|\S+`)

// Each command has an example, and accepts it.
func TestExamples(t *testing.T) {
	t.Parallel()
	leaves := 0
	for _, node := range newProgram().Leaves() {
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
		c, err := newProgram().Parse(args, os.LookupEnv)
		if err != nil {
			t.Errorf("%s: %v", example, err)
		} else if got := c.Path(); got != node.Path() {
			t.Errorf("the example of %s is one of %s", node.Path(), got)
		}
	}
	for _, node := range newProgram().Leaves() {
		switch node.Target().(type) {
		case interface{ Run() error }, interface{ Run(context.Context) error }, interface {
			Run(context.Context, verb) error
		}:
		default:
			t.Errorf("%s cannot be run", node.Path())
		}
	}
	if leaves != len(examples) {
		t.Errorf("%d commands, %d examples", leaves, len(examples))
	}
}
