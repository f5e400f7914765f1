package auth

import (
	"context"
	"encoding/base64"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"weir/internal/account"
	"weir/internal/apikey"
	"weir/internal/audit"
	"weir/internal/fault"
)

const (
	stepFor     = 5 * time.Minute  // between the two halves of a sign-in with a passkey
	tripFor     = 15 * time.Minute // and with another provider, which may ask for much
	maxSteps    = 10               // open at one time, of one person
	maxVisits   = 1000             // likewise, of all visitors from one network, which may be a company's
	maxPasskeys = 20               // of one person
)

// What a step with a passkey is for, as its token notes it.
const (
	toAdd    = "add passkey"
	toSignIn = "sign in"
	toProve  = "prove"
)

// Site is where the browser has this gateway. A passkey belongs to the host and works nowhere else.
type Site struct {
	Host   string // without a port; "localhost" or a domain name, because browsers give addresses no passkeys
	Origin string // scheme, host and port, as the browser writes it
}

// Challenge is what the browser hands to a passkey, and the step that its answer ends.
type Challenge struct {
	Step string // text of the token, which works once
	Text string // random bytes in base64url
	Site
	User       *Person // for whom a passkey is made or who proves who they are; nil: any person with a passkey
	Algorithms []int   // COSE numbers of those that are accepted, the best first
	Passkeys   []KnownPasskey
	Life       time.Duration
}

// KnownPasskey describes an existing passkey to a browser.
type KnownPasskey struct {
	ID         string
	Transports []string // how the browser reaches it, as the browser reported it
}

// algorithms are those of the signatures: all authenticators have one of them.
var algorithms = []webauthncose.COSEAlgorithmIdentifier{webauthncose.AlgES256, webauthncose.AlgEdDSA, webauthncose.AlgRS256}

// beginStep begins a step, and returns what the browser needs for it.
func (m *Manager) beginStep(ctx context.Context, p *Person, purpose string, at Site, c Client) (Challenge, error) {
	random, err := protocol.CreateChallenge()
	if err != nil {
		return Challenge{}, fault.New(fault.Internal, "auth.beginStep", "There is no randomness.").Because(err)
	}
	now := m.moment()
	text, sum := newToken()
	ch := Challenge{Step: text, Text: random.String(), Site: at, User: p, Life: stepFor}
	for _, a := range algorithms {
		ch.Algorithms = append(ch.Algorithms, int(a))
	}
	owner, most := visitors+c.Network, maxVisits
	if p != nil {
		owner, most = p.ID, maxSteps
		if ch.Passkeys, err = m.knownPasskeys(ctx, p.ID); err != nil {
			return Challenge{}, err
		}
	}
	return ch, m.store.AddToken(ctx, stepToken(sum, owner, purpose, at, ch.Text, now), most)
}

func stepToken(sum, owner, purpose string, at Site, challenge string, now time.Time) Token {
	return Token{Hash: sum, ID: apikey.NewID("tok_"), Kind: Step, User: owner, Note: purpose, Data: at.Host + " " + challenge, CreatedAt: now, ExpiresAt: now.Add(stepFor)}
}

// knownPasskeys are the passkeys of a user, for a browser.
func (m *Manager) knownPasskeys(ctx context.Context, user string) (all []KnownPasskey, err error) {
	keys, err := m.store.PasskeysOf(ctx, user)
	for i := range keys {
		k := KnownPasskey{ID: keys[i].ID}
		if known, err := credentialOf(&keys[i]); err == nil {
			for _, way := range known.Transport {
				k.Transports = append(k.Transports, string(way))
			}
		}
		all = append(all, k)
	}
	return all, err
}

// visitors begins the owner of a step without a session. The client's network follows.
const visitors = "at:"

// endStep uses up a step. It returns what the library compares the answer with.
func (m *Manager) endStep(ctx context.Context, p *Person, purpose string, at Site, step string) (webauthn.SessionData, error) {
	const op = "auth.endStep"
	t, err := m.store.UseToken(ctx, Step, SumOf(step), m.moment())
	owned := p == nil && strings.HasPrefix(t.User, visitors) || p != nil && (t.User == p.ID && purpose != toSecond || t.User == half+p.ID && purpose == toSecond)
	host, challenge, found := strings.Cut(t.Data, " ")
	switch {
	case fault.Is(err, fault.NotFound):
		return webauthn.SessionData{}, fault.Field(op, "step", "This step was used already, or took too long. Begin again.").Coded("step_over").Because(err)
	case err != nil:
		return webauthn.SessionData{}, err
	case t.Note != purpose || !found || host != at.Host || !owned:
		return webauthn.SessionData{}, fault.Field(op, "step", "This step is for something else. Begin again.").Coded("step_other")
	}
	s := webauthn.SessionData{Challenge: challenge, RelyingPartyID: host, UserVerification: protocol.VerificationRequired}
	if p != nil {
		s.UserID = []byte(p.ID)
	}
	for _, a := range algorithms {
		s.CredParams = append(s.CredParams, protocol.CredentialParameter{Type: protocol.PublicKeyCredentialType, Algorithm: a})
	}
	return s, nil
}

// checker is the library, for a site. Unrequested extensions are ignored, because password managers send some.
func checker(at Site) (*webauthn.WebAuthn, error) {
	w, err := webauthn.New(&webauthn.Config{RPID: at.Host, RPDisplayName: "Weir", RPOrigins: []string{at.Origin}, ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore})
	if err != nil {
		return nil, fault.New(fault.Internal, "auth.checker", "Passkeys do not work at this address.").Because(err)
	}
	return w, nil
}

// holder is a person as the library sees them.
type holder struct {
	id   string
	keys []webauthn.Credential
}

// WebAuthnID is what the passkey keeps of its person.
func (h *holder) WebAuthnID() []byte { return []byte(h.id) }

// WebAuthnName is not used: names go to the browser by Challenge.
func (h *holder) WebAuthnName() string { return h.id }

// WebAuthnDisplayName is not used, either.
func (h *holder) WebAuthnDisplayName() string { return h.id }

// WebAuthnCredentials are the passkeys that an answer may come from.
func (h *holder) WebAuthnCredentials() []webauthn.Credential { return h.keys }

// credentialOf reads what the library keeps of a passkey.
func credentialOf(p *Passkey) (c webauthn.Credential, err error) {
	data, err := base64.RawURLEncoding.DecodeString(p.Data)
	if err == nil {
		_, err = c.UnmarshalMsg(data)
	}
	if err != nil {
		return c, fault.New(fault.Internal, "auth.credentialOf", "A passkey cannot be read.").Because(err)
	}
	return c, nil
}

// dataOf writes it. The attestation is not kept, because nothing reads it.
func dataOf(c *webauthn.Credential) (string, error) {
	c.Attestation = webauthn.CredentialAttestation{}
	data, err := c.MarshalMsg(nil)
	if err != nil {
		return "", fault.New(fault.Internal, "auth.dataOf", "A passkey cannot be stored.").Because(err)
	}
	return base64.RawURLEncoding.EncodeToString(data), nil
}

// BeginAdd begins to make a passkey of a signed-in person.
func (m *Manager) BeginAdd(ctx context.Context, p *Person, at Site, c Client) (Challenge, error) {
	return m.beginStep(ctx, p, toAdd, at, c)
}

// AddPasskey ends it with the browser's answer, which is JSON.
func (m *Manager) AddPasskey(ctx context.Context, p *Person, at Site, step, name string, answer []byte, c Client) (Passkey, error) {
	const op = "auth.AddPasskey"
	if err := account.CheckName(name); err != nil {
		return Passkey{}, err
	}
	s, err := m.endStep(ctx, p, toAdd, at, step)
	if err != nil {
		return Passkey{}, err
	}
	w, err := checker(at)
	if err != nil {
		return Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return Passkey{}, unreadable(op, err)
	}
	made, err := w.CreateCredential(&holder{id: p.ID}, s, parsed)
	if err != nil {
		return Passkey{}, fault.Field(op, "credential", "credential is not a valid answer to this step: it may be of another address than this gateway's, or without a check of the person.").Coded("passkey_invalid").Because(err)
	}
	data, err := dataOf(made)
	if err != nil {
		return Passkey{}, err
	}
	k := Passkey{ID: base64.RawURLEncoding.EncodeToString(made.ID), User: p.ID, Name: name, Data: data, CreatedAt: m.moment()}
	err = m.store.AddPasskey(ctx, k, maxPasskeys, audit.Event{Actor: by(p.ID, c.Address), Action: audit.PasskeyAdded, Target: p.ID, After: name})
	return k, m.noted(ctx, p.ID, MailPasskeyAdded, err)
}

func unreadable(op string, err error) error {
	return fault.Field(op, "credential", "credential is not what a browser answers to this step.").Coded("passkey_unreadable").Because(err)
}

// BeginPasskey begins a sign-in with any person's passkey.
func (m *Manager) BeginPasskey(ctx context.Context, at Site, c Client) (Challenge, error) {
	return m.beginStep(ctx, nil, toSignIn, at, c)
}

// BeginProof begins a proof of who a signed-in person is.
func (m *Manager) BeginProof(ctx context.Context, p *Person, at Site, c Client) (Challenge, error) {
	ch, err := m.beginStep(ctx, p, toProve, at, c)
	if err == nil && len(ch.Passkeys) == 0 {
		err = fault.New(fault.Conflict, "auth.BeginProof", "This account has no passkey. Give the password, or sign in again.")
	}
	return ch, err
}

// SignInWith begins a session with the answer of a passkey: the owner's, or that of the person who has given a password before.
func (m *Manager) SignInWith(ctx context.Context, at Site, step string, answer []byte, c Client) (Started, error) {
	purpose := toSignIn
	var who *Person
	p, _, err := m.second(ctx, step)
	switch {
	case err == nil:
		purpose, who = toSecond, &p
	case !fault.Is(err, fault.NotFound):
		return Started{}, err
	}
	k, err := m.checkPasskey(ctx, who, purpose, at, step, answer, c)
	if err != nil {
		return Started{}, err
	}
	return m.open(ctx, k.User, "passkey", c)
}

// ProveWith notes that a signed-in person has proved who they are with a passkey.
func (m *Manager) ProveWith(ctx context.Context, s *Session, p *Person, at Site, step string, answer []byte, c Client) error {
	if _, err := m.checkPasskey(ctx, p, toProve, at, step, answer, c); err != nil {
		return err
	}
	return m.store.TouchSession(ctx, s.Hash, m.moment(), true)
}

// refusePasskey is the one answer to each passkey that is refused.
func refusePasskey(why string, err error) error {
	return fault.New(fault.Authentication, "auth.checkPasskey: "+why, "This passkey does not work here. It may have been removed, or belong to another address. Sign in another way.").Because(err)
}

// checkPasskey ends a step with the answer of a passkey, and finds whose it is. With p it must be theirs.
func (m *Manager) checkPasskey(ctx context.Context, p *Person, purpose string, at Site, step string, answer []byte, c Client) (Passkey, error) {
	s, err := m.endStep(ctx, p, purpose, at, step)
	if err != nil {
		return Passkey{}, err
	}
	w, err := checker(at)
	if err != nil {
		return Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return Passkey{}, unreadable("auth.checkPasskey", err)
	}
	k, err := m.store.PasskeyBy(ctx, base64.RawURLEncoding.EncodeToString(parsed.RawID))
	if fault.Is(err, fault.NotFound) {
		return Passkey{}, refusePasskey("unknown", err)
	}
	if err != nil {
		return Passkey{}, err
	}
	if p != nil && k.User != p.ID {
		return Passkey{}, refusePasskey("another person's", nil)
	}
	if err := m.mayGuess("passkey "+k.ID, c.Address); err != nil {
		return Passkey{}, err
	}
	known, err := credentialOf(&k)
	if err != nil {
		return Passkey{}, err
	}
	who := &holder{id: k.User, keys: []webauthn.Credential{known}}
	var now *webauthn.Credential
	if p != nil {
		now, err = w.ValidateLogin(who, s, parsed)
	} else {
		now, err = w.ValidateDiscoverableLogin(func(_, _ []byte) (webauthn.User, error) { return who, nil }, s, parsed)
	}
	switch {
	case err != nil:
		return Passkey{}, refusePasskey("invalid", err)
	case now.Authenticator.CloneWarning:
		return Passkey{}, refusePasskey("its counter went back", nil)
	}
	owner, err := m.store.PersonOf(ctx, k.User)
	switch {
	case err != nil:
		return Passkey{}, err
	case owner.Disabled:
		return Passkey{}, refusePasskey("disabled", nil)
	}
	before := k.Data
	if k.Data, err = dataOf(now); err != nil {
		return Passkey{}, err
	}
	k.UsedAt = m.moment()
	if err := m.store.UsedPasskey(ctx, k.ID, before, k.Data, k.UsedAt); fault.Is(err, fault.NotFound) {
		return Passkey{}, refusePasskey("used elsewhere at the same moment, or removed", err)
	} else if err != nil {
		return Passkey{}, err
	}
	m.forgive("passkey "+k.ID, c.Address)
	return k, nil
}

// Passkeys lists a user's passkeys, oldest first.
func (m *Manager) Passkeys(ctx context.Context, user string) ([]Passkey, error) {
	return m.store.PasskeysOf(ctx, user)
}

// RenamePasskey gives a user's passkey another name.
func (m *Manager) RenamePasskey(ctx context.Context, user, id, name string, c Client) error {
	if err := account.CheckName(name); err != nil {
		return err
	}
	return m.store.RenamePasskey(ctx, user, id, name, m.moment(), audit.Event{Actor: by(user, c.Address), Action: audit.PasskeyRenamed, Target: user, After: name})
}
