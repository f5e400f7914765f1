package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"weir/internal/catalog/builtin"
	"weir/internal/catalog/edit"
	"weir/internal/outbound"
	"weir/internal/rate"
	"weir/internal/seal"
)

// Rate returns the configuration's rate and margin, to be combined with those of other sources.
func (c *Config) Rate() rate.Declared {
	p := &c.Pricing
	return rate.Declared{
		RubPerUSD: string(p.RubPerUSD), Margin: string(p.Margin), VAT: p.VAT.Applied(), Version: p.version(),
		RateAt: c.places["pricing.rub_per_usd"].String(), MarginAt: c.places["pricing.margin"].String(), FromBank: p.RateSource == rate.CBR,
	}
}

// Band returns the rates that are accepted from the Bank of Russia. It fails with fault.Invalid.
func (p *Pricing) Band() (rate.Band, error) {
	return rate.NewBand(string(p.CBRLowest), string(p.CBRHighest))
}

// UseList sets the price list of built-in models.
func (c *Config) UseList(l *builtin.List) { c.list = l }

// PriceDir returns the folder of published price lists.
func (c *Config) PriceDir() string {
	return cmp.Or(c.PriceLists.Dir, filepath.Join(c.DataDir, "prices"))
}

// Base returns the catalog without the database: declared and built-in providers, at the given rate, with the stored credentials for
// built-in ones.
func (c *Config) Base(env Lookup, r rate.Effective, credentials map[string]edit.Credential) (*edit.Base, error) {
	kept := map[string]string{}
	for id, credential := range credentials {
		kept[id] = credential.Key
	}
	d, discoveries, err := c.declared(env, builtin.Rate{Rate: r.Rate, Version: r.Version}, kept)
	if err != nil {
		return nil, err
	}
	b := &edit.Base{Declared: d, FileProviders: map[string]string{}, FileEndpoints: map[string]string{}, Discoveries: discoveries, Env: outbound.Lookup(env)}
	for i := range c.Providers {
		b.FileProviders[c.Providers[i].ID] = c.places.of("providers[" + strconv.Itoa(i) + "]")
		if len(c.Providers[i].Models) == 0 {
			continue
		}
		for j := range d.Offers {
			if o := &d.Offers[j]; o.Provider == c.Providers[i].ID {
				b.FileEndpoints[o.EndpointID()] = o.Where
			}
		}
	}
	on := map[string]bool{}
	for i := range d.Providers {
		on[d.Providers[i].ID] = true
	}
	for _, p := range builtin.Providers() {
		base, missing := builtin.Expand(p.BaseURL, env)
		if !on[p.ID] && !p.Template && missing == "" {
			p.Provider.BaseURL, p.Provider.Wires = base, builtin.ExpandWires(p.Wires, env)
			b.Known = append(b.Known, p.Provider)
		}
	}
	return b, nil
}

// masterKeyVariable may hold the master key itself.
const masterKeyVariable = "WEIR_MASTER_KEY"

// OwnMasterKey is the file in the data directory with the master key that a node has made for itself, because none is configured.
func (c *Config) OwnMasterKey() string { return filepath.Join(c.DataDir, "master.key") }

// Ring returns the master keys, nil if there is none. Without a configured one it is the node's own; beside a configured one, that still decrypts
// what was encrypted before. It refuses a key file that users other than its owner may read.
func (c *Config) Ring(env Lookup) (*seal.Ring, error) {
	var texts []string
	text, set := env(masterKeyVariable)
	set = set && text != ""
	if set && c.Sealing.MasterKeyFile != "" {
		return nil, fmt.Errorf("secrets.master_key_file and %s are both set; keep one", masterKeyVariable)
	}
	if set {
		texts = append(texts, text)
	}
	if c.Sealing.MasterKeyFile != "" {
		secret, err := readSecretFile(c.Sealing.MasterKeyFile)
		if err != nil {
			return nil, fmt.Errorf("secrets.master_key_file: %w", err)
		}
		texts = append(texts, secret.Reveal())
	}
	own, err := readSecretFile(c.OwnMasterKey())
	switch {
	case err == nil && !slices.Contains(texts, own.Reveal()):
		texts = append(texts, own.Reveal())
	case err != nil && !errors.Is(err, fs.ErrNotExist) && len(texts) == 0:
		return nil, fmt.Errorf("the master key of this node: %w", err)
	}
	if len(texts) == 0 {
		return nil, nil
	}
	for _, path := range c.Sealing.PreviousKeyFiles {
		secret, err := readSecretFile(path)
		if err != nil {
			return nil, fmt.Errorf("secrets.previous_key_files: %w", err)
		}
		texts = append(texts, secret.Reveal())
	}
	keys := make([][]byte, 0, len(texts))
	for _, text := range texts {
		key, err := seal.ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("the master key is invalid: it must be 32 random bytes as 64 hex digits or base64; make one with: openssl rand -hex 32")
		}
		keys = append(keys, key)
	}
	return seal.NewRing(keys...)
}

// maxVersion bounds the length of a version, because records contain it.
const maxVersion = 100

func (p *Pricing) version() string {
	return rate.Version(p.Version, string(p.RubPerUSD), string(p.Margin), p.VAT.Applied())
}
