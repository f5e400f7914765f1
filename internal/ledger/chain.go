package ledger

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"weir/internal/fault"
	"weir/internal/money"
)

// Anchor is the length of the chain of transactions and the hash of its last link. It is stored where people who can change the database
// cannot change it. The chain alone does not stop an attacker who computes all of it again; a stored anchor does.
type Anchor struct {
	Length int64
	Hash   string // hex; "" of a chain without links
}

// anchorWord begins the file of an anchor.
const anchorWord = "weir-ledger-anchor"

// String is the text of the file that ParseAnchor reads.
func (a Anchor) String() string {
	hash := a.Hash
	if hash == "" {
		hash = "-"
	}
	return anchorWord + " " + strconv.FormatInt(a.Length, 10) + " " + hash + "\n"
}

// ParseAnchor reads the text that String writes.
func ParseAnchor(text string) (a Anchor, err error) {
	f := strings.Fields(text)
	if len(f) == 3 && f[0] == anchorWord {
		a.Length, err = strconv.ParseInt(f[1], 10, 64)
		if a.Hash = f[2]; a.Hash == "-" {
			a.Hash = ""
		}
		if sum, bad := hex.DecodeString(a.Hash); err == nil && bad == nil && (a.Length > 0 && len(sum) == sha256.Size || a.Length == 0 && a.Hash == "") {
			return a, nil
		}
	}
	return Anchor{}, fault.New(fault.Invalid, "ledger.ParseAnchor", "This is not an anchor of a ledger: give a file that weir ledger verify --write-anchor has written.")
}

// Link is one link of the chain: the postings and records of one transaction of the store.
type Link struct {
	Seq         int64 // 1, 2, ... without gaps
	First, Last int64 // transactions; 0 and 0 when only calls that cost nothing were recorded, more than one where older books were taken over
	Calls       int64 // below zero: so many were dropped, see Sweeper
	Digest      Digest
	Hash        string // hex
}

// Chain gives the link its hash, after the hash of the one before ("" for the first). content is Content.Sum of its transactions.
func (l *Link) Chain(prev string, content [sha256.Size]byte) string {
	b := make([]byte, 0, 256)
	b = append(b, "link\x00"...)
	b = append(b, prev...)
	for _, n := range [...]int64{l.Seq, l.First, l.Last, l.Calls} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	b = append(b, content[:]...)
	b = append(b, l.Digest[:]...)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Digest identifies a set of calls, whatever their order: the sum of their hashes, as numbers of 512 bits.
type Digest [sha512.Size]byte

// Add adds a call by its row's key and record.
func (d *Digest) Add(wallet, generation string, rec []byte) {
	h := sha256.New()
	var n [8]byte
	for _, s := range [...]string{wallet, generation} {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(s))
	}
	_, _ = h.Write(rec)
	sum := sha512.Sum512(h.Sum(nil))
	d.plus((*Digest)(&sum))
}

// Plus adds all calls of another set.
func (d *Digest) Plus(other []byte) {
	if len(other) == len(d) {
		d.plus((*Digest)(other))
	}
}

// Minus takes all calls of another set away.
func (d *Digest) Minus(other *Digest) {
	less := *other
	less.negate()
	d.plus(&less)
}

// AddSums adds figures to a digest of sums: each as often as it says, at a place that its table, row and column determine. So the digest of a
// row is the sum of the digests of all that was ever added to it, whatever the order.
func (d *Digest) AddSums(table string, row []string, columns []string, values []int64) {
	h := sha512.New()
	var n [8]byte
	word := func(s string) {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(s))
	}
	word(table)
	for _, s := range row {
		word(s)
	}
	at := h.Sum(nil)
	for i, v := range values {
		if v == 0 {
			continue
		}
		place := Digest(sha512.Sum512(append(at[:len(at):len(at)], columns[i]...)))
		place.times(v)
		d.plus(&place)
	}
}

// times multiplies, modulo 2^512.
func (d *Digest) times(n int64) {
	by, carry := uint64(n), uint64(0)
	if n < 0 {
		by = -by
	}
	for i := len(d) - 8; i >= 0; i -= 8 {
		hi, lo := bits.Mul64(binary.BigEndian.Uint64(d[i:]), by)
		lo, over := bits.Add64(lo, carry, 0)
		carry = hi + over
		binary.BigEndian.PutUint64(d[i:], lo)
	}
	if n < 0 {
		d.negate()
	}
}

func (d *Digest) negate() {
	for i := range d {
		d[i] = ^d[i]
	}
	one := Digest{len(d) - 1: 1}
	d.plus(&one)
}

func (d *Digest) plus(other *Digest) {
	carry := 0
	for i := len(d) - 1; i >= 0; i-- {
		n := int(d[i]) + int(other[i]) + carry
		d[i], carry = byte(n), n>>8
	}
}

// Content is the hashed content of a transaction. Each field is written after its length, so that two different ones never give the same
// text.
type Content struct{ text []byte }

// NewContent begins a transaction.
func NewContent(id int64, kind, ref string, at int64, actor, reason string) *Content {
	c := &Content{text: make([]byte, 0, 512)}
	c.number(id)
	c.number(at)
	c.word(kind)
	c.word(ref)
	c.word(actor)
	c.word(reason)
	return c
}

// Entry adds an entry. They come by line, account and ref.
func (c *Content) Entry(account, ref string, line int64, amount money.Nano) {
	c.number(line)
	c.number(int64(amount))
	c.word(account)
	c.word(ref)
}

// Sum is the hash.
func (c *Content) Sum() [sha256.Size]byte { return sha256.Sum256(c.text) }

func (c *Content) number(n int64) { c.text = binary.BigEndian.AppendUint64(c.text, uint64(n)) }
func (c *Content) word(s string)  { c.number(int64(len(s))); c.text = append(c.text, s...) }

// Join is the content of several transactions, in the order of their ids.
func Join(contents [][sha256.Size]byte) [sha256.Size]byte {
	h := sha256.New()
	for i := range contents {
		_, _ = h.Write(contents[i][:])
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Check compares the chain with a stored anchor: at is the hash of the link that it names, or "". It returns what is
// wrong, "" when they agree.
func (a Anchor) Check(length int64, at string) string {
	switch {
	case a.Length == 0:
		return ""
	case length < a.Length:
		return fmt.Sprintf("the chain has %d links, the anchor noted %d: what was posted last is gone", length, a.Length)
	case at != a.Hash:
		return fmt.Sprintf("link %d has the hash %s, the anchor noted %s: what was posted before was changed", a.Length, at, a.Hash)
	}
	return ""
}
