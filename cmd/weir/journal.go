package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"weir/internal/ledger"
	"weir/internal/ledger/journal"
)

type ledgerJournalCmd struct {
	Inspect journalInspectCmd `cmd:"" help:"Show the files of this node's journal and their damage; exit with 1 when there is any."`
	Repair  journalRepairCmd  `cmd:"" help:"Give up what cannot be read and keep the rest, after copying damaged files. Stop the node first."`
}

type journalInspectCmd struct{ location }

var errDamaged = errors.New("the journal is damaged: restore the files from a copy, or run weir ledger journal repair")

func (c *journalInspectCmd) Run() error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	all, err := journal.Survey(ledger.JournalDir(cfg.DataDir))
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Println("There is no journal.")
		return nil
	}
	broken := false
	err = table("FILE\tFROM\tTO\tRECORDS\tBYTES\tSTATE", func(w *tabwriter.Writer) {
		for i := range all {
			s := &all[i]
			broken = broken || s.Damaged()
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", filepath.Base(s.Path), s.Base, s.End, s.Records, s.Bytes, wording(s))
		}
	})
	if err == nil && broken {
		return errDamaged
	}
	return err
}

// wording describes what is wrong with a file.
func wording(s *journal.Segment) string {
	text := "whole"
	if s.Damaged() {
		text = "damaged"
	}
	if !s.Head {
		text += ", its head cannot be read"
	}
	for _, h := range s.Holes {
		text += fmt.Sprintf(", nothing whole from byte %d to %d", h.From-s.Base, h.To-s.Base)
	}
	for _, h := range s.Given {
		text += fmt.Sprintf(", given up before from byte %d to %d", h.From-s.Base, h.To-s.Base)
	}
	return text
}

type journalRepairCmd struct{ location }

func (c *journalRepairCmd) Run() error {
	cfg, err := c.load("")
	if err != nil {
		return err
	}
	dir := ledger.JournalDir(cfg.DataDir)
	repaired, err := journal.Repair(dir, time.Now())
	if err != nil {
		return err
	}
	if len(repaired) == 0 {
		fmt.Println("Nothing is damaged.")
		return nil
	}
	for i := range repaired {
		fmt.Printf("%s was %s; %d whole records are kept.\n", filepath.Base(repaired[i].Path), wording(&repaired[i]), repaired[i].Records)
	}
	fmt.Printf("Copies of what was damaged are in %s.\n", filepath.Join(dir, "damaged"))
	return nil
}
