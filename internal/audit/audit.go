// Package audit is the chain of administrative changes and their authors: each row has the hash of the one before it, so that a removed
// or edited row is found. It holds no secrets and stores nothing itself: a store appends rows and returns them in order.
package audit

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"iter"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
)

// The actions that are recorded.
const (
	UserCreated     = "user.create"
	UserDisabled    = "user.disable"
	UserEnabled     = "user.enable"
	UserRole        = "user.role"
	UserPreferences = "user.preferences"
	UserProfile     = "user.profile"
	UserTimezone    = "user.timezone"
	UserForgotten   = "user.forget"
	CallOpened      = "call.open"
	NoticesChanged  = "user.notifications"
	ResponsesGone   = "responses.delete"
	ChatsGone       = "chats.delete"
	KeyCreated      = "key.create"
	KeyChanged      = "key.change"
	KeyRevoked      = "key.revoke"
	KeyReset        = "key.reset_spending"
	TreeStopped     = "key.stop_tree"
	TopUp           = "topup"

	SignedIn        = "sign_in"
	SessionsEnded   = "session.end"
	AgentAllowed    = "agent.allow"
	AgentDenied     = "agent.deny"
	AgentEnded      = "agent.end"
	SeeingBegan     = "see_as.begin"
	SeeingEnded     = "see_as.end"
	LoginAdded      = "login.add"
	PasswordSet     = "password.set"
	PasswordRemoved = "password.remove"
	ResetLink       = "password.link"
	Invited         = "invitation.create"
	Uninvited       = "invitation.delete"
	AddressAsked    = "address.ask"
	AddressMoved    = "address.move"
	AddressKept     = "address.keep"
	PasskeyAdded    = "passkey.add"
	PasskeyRenamed  = "passkey.rename"
	PasskeyRemoved  = "passkey.remove"
	SecondStepOn    = "second_step.on"
	SecondStepOff   = "second_step.off"
	IdentityAdded   = "identity.add"
	IdentityRemoved = "identity.remove"

	OrgChanged     = "organization.change"
	OrgInvited     = "organization.invite"
	OrgUninvited   = "organization.uninvite"
	OrgJoined      = "organization.join"
	OrgMember      = "organization.member"
	OrgLeft        = "organization.leave"
	OrgTeamMade    = "organization.team_create"
	OrgTeamChanged = "organization.team_change"
	OrgTeamDeleted = "organization.team_delete"
	OrgServiceMade = "organization.service_create"
	OrgService     = "organization.service_change"
	OrgServiceGone = "organization.service_end"

	OrgConnected    = "organization.directory_connect"
	OrgDisconnected = "organization.directory_disconnect"

	PaymentMade     = "payment.create"
	PaymentCanceled = "payment.cancel"
	PaymentProblem  = "payment.problem"
	PaymentChecked  = "payment.check"
	PaymentRefund   = "payment.refund"
	RefundCanceled  = "payment.refund_cancel"
	AutoTopUpSet    = "auto_top_up.set"
	AutoTopUpEnded  = "auto_top_up.end"

	VouchersMade    = "voucher.create"
	VouchersRevoked = "voucher.revoke"

	BuyerSaved       = "invoice.buyer"
	InvoiceMade      = "invoice.create"
	InvoiceCancelled = "invoice.cancel"
	InvoicePaid      = "invoice.paid"
	InvoicePaidBack  = "invoice.refund"
	ActMade          = "act.create"

	StatementImported  = "statement.import"
	StatementLineAside = "statement.aside"

	CatalogAdded    = "catalog.add"
	CatalogChanged  = "catalog.change"
	CatalogRemoved  = "catalog.remove"
	RateSet         = "rate.set"
	PricesPublished = "prices.publish"
	ServiceDrained  = "service.drain"
	ServiceEjected  = "service.eject"
	ServiceReturned = "service.return"
	SettingSet      = "setting.set"
	SettingReset    = "setting.reset"
	PricesScheduled = "prices.schedule"
	PricesCancelled = "prices.cancel"
	SecretRotated   = "secret.rotate"

	CatalogKeyAdded     = "catalog_key.add"
	CatalogKeyDrained   = "catalog_key.drain"
	CatalogKeyOut       = "catalog_key.out"
	CatalogKeyReturned  = "catalog_key.return"
	CatalogKeyForgotten = "catalog_key.forget"

	BatchCancelled = "batch.cancel"
	JobRetried     = "job.retry"
	JobEnded       = "job.end"

	AlertChanged        = "alert.change"
	AlertChannelAdded   = "alert_channel.add"
	AlertChannelChanged = "alert_channel.change"
	AlertChannelRemoved = "alert_channel.remove"
	AlertChannelTested  = "alert_channel.test"

	ReconciliationMade    = "reconciliation.make"
	ReconciliationDeleted = "reconciliation.delete"
	DifferenceSettled     = "reconciliation.settle"
	DifferenceReopened    = "reconciliation.reopen"
	BilledKeysNamed       = "reconciliation.keys"

	SalesFilled = "sales.fill"

	PresetCreated = "preset.create"
	PresetSaved   = "preset.save"
	PresetDeleted = "preset.delete"

	BudgetMade     = "budget.create"
	BudgetChanged  = "budget.change"
	BudgetRemoved  = "budget.delete"
	BudgetRestored = "budget.restore"

	ProviderKeyAdded   = "provider_key.add"
	ProviderKeyChanged = "provider_key.change"
	ProviderKeyRemoved = "provider_key.remove"
)

// Actor is the author of a change, and its address.
type Actor struct {
	Name string // "key:key_...", "operator", "bootstrap"
	From string // network address, "" for a command on the machine
}

// Event is one change. Before and After are short sentences without secrets; either may be empty.
type Event struct {
	Actor
	Action string
	Target string // id of the user, key, wallet or batch
	Before string
	After  string
}

// Row is an event with its place in the chain.
type Row struct {
	Event
	Seq  int64     // 1, 2, ... without gaps
	At   time.Time // microseconds, UTC
	Prev string    // Hash of the row before, "" for the first
	Hash string    // hex

	// Salt is hashed, too, so that what was erased of a row cannot be guessed. Rows of older versions have "".
	Salt   string
	Erased int64 // number of the row that says what is left of this one; 0: all is there
}

// Personal are the actions whose Before and After tell of people, such as addresses and names. None of them moves money.
var Personal = []string{UserProfile, UserPreferences, Invited, AddressMoved, AddressKept, PasskeyAdded, PasskeyRenamed, PasskeyRemoved, IdentityAdded, IdentityRemoved, KeyCreated, KeyChanged, KeyRevoked, TreeStopped, BudgetMade, BudgetChanged, BudgetRemoved, BudgetRestored}

// Rest is what is left of rows from which personal data were erased. Their own hashes cover what is gone; so the row that erased them has the hash of
// the rest.
type Rest struct {
	n    int
	hash hash.Hash
}

// Add adds a row, in order.
func (r *Rest) Add(row *Row) {
	if r.hash == nil {
		r.hash = sha256.New()
	}
	r.n++
	_, _ = r.hash.Write(append(row.text(), row.Hash...))
}

// String is what After of the row says that erased them.
func (r *Rest) String() string {
	if r == nil || r.n == 0 {
		return ""
	}
	return "personal data of " + strconv.Itoa(r.n) + " rows erased; the rest: " + hex.EncodeToString(r.hash.Sum(nil))
}

// Link appends e to the row whose number and hash are given; 0 and "" begin a chain.
func Link(e Event, seq int64, prev string, at time.Time) Row {
	r := Row{Event: e, Seq: seq + 1, At: at.UTC().Truncate(time.Microsecond), Prev: prev, Salt: rand.Text()}
	r.Hash = r.sum()
	return r
}

// sum hashes the row's fields.
func (r *Row) sum() string {
	sum := sha256.Sum256(r.text())
	return hex.EncodeToString(sum[:])
}

// text has the row's fields, each after its length: two rows that differ never give the same text.
func (r *Row) text() []byte {
	text := make([]byte, 0, 256)
	fields := []string{r.Prev, strconv.FormatInt(r.Seq, 10), strconv.FormatInt(r.At.UnixMicro(), 10), r.Name, r.From, r.Action, r.Target, r.Before, r.After, r.Salt}
	if r.Salt == "" {
		fields = fields[:len(fields)-1]
	}
	for _, field := range fields {
		text = strconv.AppendInt(text, int64(len(field)), 10)
		text = append(text, ':')
		text = append(text, field...)
	}
	return text
}

// Verify walks a whole chain in order and returns its length. It fails with fault.Conflict at the first row that was changed,
// or in front of which one is missing. A chain cut at its end looks whole: compare it with a Mark that was noted elsewhere.
func Verify(rows iter.Seq2[Row, error]) (int64, error) {
	end, err := Check(rows, Mark{})
	return end.Seq, err
}

// Mark identifies a row of a chain and is stored elsewhere: the row's number and hash. The zero Mark means that no row was marked. A chain that still has the
// marked row was not cut before it, and nothing before it was rewritten.
type Mark struct {
	Seq  int64
	Hash string
}

func (m Mark) String() string { return strconv.FormatInt(m.Seq, 10) + ":" + m.Hash }

// ParseMark reads what String writes.
func ParseMark(text string) (Mark, error) {
	seq, hash, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(seq, 10, 64)
	if raw, bad := hex.DecodeString(hash); err != nil || n < 1 || bad != nil || len(raw) != sha256.Size {
		return Mark{}, fault.New(fault.Invalid, "audit.ParseMark", "A mark is the number of a row, a colon and the row's hash of 64 hex digits.")
	}
	return Mark{n, strings.ToLower(hash)}, nil
}

// Check is Verify against a mark. It returns the last row that is good, and fails with fault.Conflict, too, for a chain without the marked row.
func Check(rows iter.Seq2[Row, error], noted Mark) (end Mark, err error) {
	broken := func(format string, args ...any) (Mark, error) {
		return end, fault.Newf(fault.Conflict, "audit.Check", format, args...)
	}
	erased := map[int64]*Rest{} // by the row that says what is left
	for row, err := range rows {
		switch {
		case err != nil:
			return end, err
		case row.Seq > end.Seq+1:
			return broken("A row is missing: row %d follows row %d.", row.Seq, end.Seq)
		case row.Seq != end.Seq+1:
			return broken("Row %d is where row %d should be: rows were exchanged or repeated.", row.Seq, end.Seq+1)
		case row.Erased == 0 && row.sum() != row.Hash, row.Erased != 0 && (row.Erased <= row.Seq || row.Salt != "" || row.From != ""):
			return broken("Row %d was changed.", row.Seq)
		case row.Prev != end.Hash:
			return broken("Row %d does not follow row %d: row %d was rewritten, or a row between them was removed.", row.Seq, end.Seq, end.Seq)
		case row.Seq == noted.Seq && row.Hash != noted.Hash:
			return broken("Row %d is not the row of the mark: the chain was rewritten from there or earlier.", row.Seq)
		}
		if rest := erased[row.Seq]; (rest != nil || row.Action == UserForgotten) && row.After != rest.String() {
			return broken("Row %d does not say what is left of the rows that it erased: one of them was changed, or is another one.", row.Seq)
		}
		if delete(erased, row.Seq); row.Erased != 0 {
			if erased[row.Erased] == nil {
				erased[row.Erased] = new(Rest)
			}
			erased[row.Erased].Add(&row)
		}
		end = Mark{row.Seq, row.Hash}
	}
	for seq := range erased {
		return broken("Rows were erased for row %d, which does not say so.", seq)
	}
	if end.Seq < noted.Seq {
		return broken("The chain ends at row %d, but the mark is row %d: rows were removed from its end.", end.Seq, noted.Seq)
	}
	return end, nil
}
