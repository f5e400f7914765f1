package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weir/internal/agent"
	"weir/internal/app"
	"weir/internal/loop"
	"weir/internal/rawjson"
)

type agentCmd struct {
	SignIn  agentSignInCmd  `cmd:"" help:"Sign this machine's programs in to a gateway, with a browser."`
	Token   agentTokenCmd   `cmd:"" help:"Print a key that works for an hour, for programs that ask a command for one."`
	SignOut agentSignOutCmd `cmd:"" help:"End the sign-in of this machine's programs."`
}

// keptAt is where a sign-in is kept.
type keptAt struct {
	File string `help:"File that keeps the sign-in; by default weir/agent.json in the folder for settings of this user." placeholder:"FILE" type:"path"`
}

type (
	agentSignInCmd struct {
		keptAt
		URL string `arg:"" help:"Address of the gateway, without /v1." placeholder:"URL"`
	}
	agentTokenCmd   struct{ keptAt }
	agentSignOutCmd struct{ keptAt }
)

// signedIn is a sign-in as it is kept. Its file is for its user alone.
type signedIn struct {
	url, access, refresh string
	expires              time.Time
}

const (
	agentCallFor = 30 * time.Second // a call of the gateway
	renewBefore  = 5 * time.Minute  // the end of a key
	maxKept      = 16 << 10
)

func (c *keptAt) path() (string, error) {
	if c.File != "" {
		return c.File, nil
	}
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "weir", "agent.json"), err
}

func (c *keptAt) read() (s signedIn, err error) {
	path, err := c.path()
	if err != nil {
		return s, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, errors.New("no program is signed in on this machine: weir agent sign-in URL")
	}
	if err != nil {
		return s, err
	}
	at, ok := rawjson.Int(rawjson.Find(text, "expires_at"))
	s = signedIn{url: rawjson.TextAt(text, "url"), access: rawjson.TextAt(text, "access_token"), refresh: rawjson.TextAt(text, "refresh_token"), expires: time.Unix(at, 0)}
	if !ok || len(text) > maxKept || !rawjson.Valid(text) || s.url == "" || s.refresh == "" {
		return s, fmt.Errorf("%s is no sign-in: delete it, and use weir agent sign-in URL", path)
	}
	return s, nil
}

// write replaces the file as a whole: another program may read it at the same moment.
func (c *keptAt) write(s signedIn) error {
	path, err := c.path()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var w rawjson.Writer
	w.Object()
	w.Name("url").Text(s.url)
	w.Name("access_token").Text(s.access)
	w.Name("refresh_token").Text(s.refresh)
	w.Name("expires_at").Int(s.expires.Unix())
	w.EndObject()
	f, err := os.CreateTemp(filepath.Dir(path), ".agent-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(w.B, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// post asks a route of OAuth. word is its error, "" none.
func post(ctx context.Context, address string, form url.Values) (answer []byte, word string, err error) {
	ctx, cancel := context.WithTimeout(ctx, agentCallFor)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("User-Agent", "weir/"+app.Version)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // a token is sent nowhere else
	res, err := client.Do(req)
	if err != nil {
		return nil, "", fmt.Errorf("the gateway does not answer: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if answer, err = io.ReadAll(io.LimitReader(res.Body, maxKept)); err != nil {
		return nil, "", err
	}
	if res.StatusCode == http.StatusOK {
		return answer, "", nil
	}
	if word = rawjson.TextAt(answer, "error"); !rawjson.Valid(answer) || word == "" {
		return nil, "", fmt.Errorf("%s answers %s: it is no Weir with sign-in", address, res.Status)
	}
	return nil, word, errors.New(rawjson.TextAt(answer, "error_description"))
}

// take takes the tokens of an answer.
func (s *signedIn) take(answer []byte, now time.Time) error {
	seconds, ok := rawjson.Int(rawjson.Find(answer, "expires_in"))
	s.access, s.refresh, s.expires = rawjson.TextAt(answer, "access_token"), rawjson.TextAt(answer, "refresh_token"), now.Add(time.Duration(seconds)*time.Second)
	if !ok || s.access == "" || s.refresh == "" {
		return errors.New("the gateway has answered without tokens")
	}
	return nil
}

func (c *agentSignInCmd) Run(ctx context.Context) error {
	out := os.Stderr
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("%q is no address such as https://weir.example.org", c.URL)
	}
	s := signedIn{url: strings.TrimSuffix(strings.TrimRight(c.URL, "/"), "/v1")}
	asked, _, err := post(ctx, s.url+"/oauth/device_authorization", url.Values{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "Open this address, compare the code, and allow it:\n\n  %s\n\n  Code  %s\n\n", rawjson.TextAt(asked, "verification_uri_complete"), rawjson.TextAt(asked, "user_code"))
	seconds, ok := rawjson.Int(rawjson.Find(asked, "interval"))
	if !ok {
		seconds = 5 // RFC 8628, section 3.2
	}
	every := time.Duration(seconds) * time.Second
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "device_code": {rawjson.TextAt(asked, "device_code")}}
	for {
		if err := loop.Wait(ctx, every); err != nil {
			return err
		}
		answer, word, err := post(ctx, s.url+"/oauth/token", form)
		switch {
		case err == nil:
			if err := s.take(answer, time.Now()); err != nil {
				return err
			}
			if err := c.write(s); err != nil {
				return err
			}
			fmt.Fprintln(out, "Signed in. weir agent token prints a key.")
			return nil
		case word == agent.SlowDown:
			every += 5 * time.Second
		case word != agent.Pending:
			return err
		}
	}
}

func (c *agentTokenCmd) Run(ctx context.Context) error {
	now := time.Now()
	s, err := c.read()
	if err != nil {
		return err
	}
	if s.expires.Sub(now) < renewBefore {
		answer, word, err := post(ctx, s.url+"/oauth/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {s.refresh}})
		if word == agent.InvalidGrant {
			return fmt.Errorf("the sign-in has ended: weir agent sign-in %s", s.url)
		}
		if err != nil {
			return err
		}
		if err := s.take(answer, now); err != nil {
			return err
		}
		if err := c.write(s); err != nil {
			return err
		}
	}
	fmt.Println(s.access)
	return nil
}

func (c *agentSignOutCmd) Run(ctx context.Context) error {
	s, err := c.read()
	if err != nil {
		return err
	}
	if _, _, err := post(ctx, s.url+"/oauth/revoke", url.Values{"token": {s.refresh}}); err != nil {
		return err
	}
	path, err := c.path()
	if err != nil {
		return err
	}
	return os.Remove(path)
}
