package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"weir/internal/agent"
	"weir/internal/apikey"
	"weir/internal/httpapi"
	"weir/internal/loop"
)

// makeAgents makes what lets programs act for people.
func (g *Gateway) makeAgents(verifier *apikey.Verifier) *agent.Manager {
	agents := agent.NewManager(g.store.Agents, verifier.ForgetUser, time.Now, g.cfg.SignIn.Config, g.cfg.Keys.MaxPerUser)
	g.keep(loop.Every(sweepPeopleEvery, func(ctx context.Context) {
		for more := true; more && ctx.Err() == nil; {
			n, err := agents.Sweep(ctx, sweepPeopleAt)
			if err != nil {
				g.slog.Warn("sign-ins of agents that have expired could not be deleted; it is tried again", "error", err)
			}
			more = err == nil && n >= sweepPeopleAt
		}
	}))
	return agents
}

const writeReportsEvery = 5 * time.Second

// makeReports makes what gathers reports of agents.
func (g *Gateway) makeReports() *agent.Collector {
	c := agent.NewCollector(g.store.Agents, time.Now)
	write := func(ctx context.Context) {
		if err := c.Flush(ctx); err != nil {
			g.slog.Warn("what programs have reported of their sessions could not be written; it is tried again", "error", err)
		}
	}
	g.onClose(write)
	g.keep(loop.Every(writeReportsEvery, write))
	return c
}

// agentSettings reads what is set for Claude Code; nil: nothing is.
func (g *Gateway) agentSettings() (*httpapi.AgentSettings, error) {
	c := &g.cfg.SignIn
	if c.ClaudeCode == "" && len(c.ClaudeCodes) == 0 {
		return nil, nil
	}
	var all httpapi.AgentSettings
	var err error
	if c.ClaudeCode != "" {
		if all.Everyone, err = managedSettings("sign_in.claude_code_settings", c.ClaudeCode); err != nil {
			return nil, err
		}
	}
	for i, f := range c.ClaudeCodes {
		s, err := managedSettings(fmt.Sprintf("sign_in.claude_code_settings_for[%d].file", i), f.File)
		if err != nil {
			return nil, err
		}
		all.For = append(all.For, httpapi.SettingsFor{Who: f.Who, Settings: s})
	}
	return &all, nil
}

func managedSettings(setting, path string) (*httpapi.ManagedSettings, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, httpapi.MaxManagedSettings+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", setting, err)
	}
	s, err := httpapi.ReadManagedSettings(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", setting, path, err)
	}
	return s, nil
}
