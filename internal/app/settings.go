package app

import (
	"slices"
	"strings"
	"time"

	"weir"
	"weir/internal/accountapi"
	"weir/internal/adminapi"
	"weir/internal/catalog/edit"
	"weir/internal/config"
	"weir/internal/rate"
)

// settings are those of this node as they are in use. What a running node does not apply is as it began with it.
func (g *Gateway) settings() ([]adminapi.Setting, error) {
	example, err := weir.Files.ReadFile("weir.example.yaml")
	if err != nil {
		return nil, err
	}
	began, err := g.cfg.Shown(example)
	if err != nil {
		return nil, err
	}
	read := g.live.config()
	now, err := read.Shown(example)
	if err != nil {
		return nil, err
	}
	waiting := config.NeedRestart(&g.cfg, &read)
	all := make([]adminapi.Setting, len(began))
	for i := range began {
		s := &began[i]
		if s.Live {
			s = &now[i]
		}
		section, _, _ := strings.Cut(s.Key, ".")
		one := adminapi.Setting{
			Key: s.Key, Section: section, Type: s.Type, Secret: s.Secret, From: s.From, Where: accountapi.OrNull(s.Where), Live: s.Live, Means: s.Means,
			Default: accountapi.OrNull(s.Default), Pending: slices.Contains(waiting, s.Key),
		}
		switch {
		case s.Secret:
			one.Set = &s.Set
		case s.Count >= 0:
			one.Count = &s.Count
		default:
			one.Value = &s.Value
		}
		g.fromDatabase(&one, read.Rate())
		g.forAWhile(&one)
		all[i] = one
	}
	return all, nil
}

// fromDatabase shows the rate and the margin that hold where operators, or the Bank of Russia, have set them.
func (g *Gateway) fromDatabase(s *adminapi.Setting, declared rate.Declared) {
	r := g.built.Load().Rate
	switch s.Key {
	case "pricing.rub_per_usd":
		if r.Source != rate.Static {
			s.Value, s.From, s.Where = &r.RubPerUSD, "database", nil
		}
	case "pricing.margin":
		if declared.MarginAt == "" && r.Margin != declared.Margin {
			s.Value, s.From, s.Where = &r.Margin, "database", nil
		}
	}
}

// forAWhile shows what operators have set until a moment.
func (g *Gateway) forAWhile(s *adminapi.Setting) {
	s.Values = append([]string{}, edit.Settable(s.Key)...)
	if t := g.built.Load().Temporary(s.Key, time.Now()); t != nil {
		s.Value, s.From, s.Where, s.Until = &t.Value, "database", nil, accountapi.Moment(t.Until)
	}
}

// config is the configuration that was read last.
func (l *live) config() config.Config {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cfg
}
