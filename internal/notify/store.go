package notify

import (
	"context"
	"time"

	"weir/internal/audit"
	"weir/internal/money"
	"weir/internal/webhook"
)

// Settings are what an account chose.
type Settings struct {
	Threshold    money.Nano // of a low balance; 0: only the days that it lasts count
	ThresholdSet bool       // false: the operator's default holds
	Webhook      string     // address of events, "" none
	Tags         []string   // whose spending is watched by itself: whole tags, and names for each value
	Own          Choices    // only the switches that the account has set
}

// SettingsStore keeps settings.
type SettingsStore interface {
	// NotifySettings finds the settings of an account, which are empty when it has chosen nothing.
	NotifySettings(ctx context.Context, account string) (Settings, error)
	// SaveNotifySettings replaces the threshold, the address and the tags, and sets the switches of Own, by what change makes of the settings; switches that are not
	// in Own then stay as they are. With an event without an action nothing is stored.
	SaveNotifySettings(ctx context.Context, account string, now time.Time, change func(*Settings) (audit.Event, error)) error
	// SwitchNotice sets one switch and nothing else. It fails with fault.NotFound for an account that does not exist.
	SwitchNotice(ctx context.Context, account string, cause Cause, by Channel, on bool, now time.Time, e audit.Event) error
	// TakeNoticeTest counts a test of a day, and reports whether there were fewer than most before.
	TakeNoticeTest(ctx context.Context, account, day string, most int) (bool, error)
	// NoticeKey returns the key that signs links, the same on all nodes: fresh, if it had none.
	NoticeKey(ctx context.Context, fresh []byte) ([]byte, error)
}

// Enrolled is an account whose facts are to be looked for.
type Enrolled struct {
	ID, Wallet string
	Since      time.Time // what happened before is not reported
}

// Reporting says how a new fact is reported.
type Reporting struct {
	Mail bool
	Hook *webhook.Delivery // nil: not by webhook
}

// FactStore keeps the facts that were found, so that each is reported once, by whichever node finds it.
type FactStore interface {
	// EnrolAccounts adds the users that are not enrolled.
	EnrolAccounts(ctx context.Context, now time.Time) error
	// ClaimChecks hands out at most n accounts whose check is due, the longest due first, and puts their next one off. Disabled users are
	// left out.
	ClaimChecks(ctx context.Context, now, next time.Time, n int) ([]Enrolled, error)
	// MoneyFacts lists at most n payments, refunds and failed automatic top-ups of an account that ended since, the newest first.
	MoneyFacts(ctx context.Context, account string, since time.Time, n int) ([]Fact, error)
	// NoteFacts makes the states kept of an account those of facts, in one transaction, and reports how many facts are new. A new fact is reported as
	// how says: its delivery is in the outbox, or its cause waits to be mailed, if and only if the fact is kept. A state that how did not report yet is reported
	// when it does. A state that no longer holds is not mailed any more; it is new when it comes back and has not held since over. An account keeps MostKept
	// facts, and those that hold.
	NoteFacts(ctx context.Context, account string, facts []Fact, how func(*Fact) Reporting, now, over time.Time) (fresh int, err error)
	// SweepFacts forgets at most n events that were found before, and states that ended before, and reports how many.
	SweepFacts(ctx context.Context, before time.Time, n int) (int, error)
}

// MostKept bounds the facts that are kept of an account, without those that hold.
const MostKept = 300

// Noticed is a fact as it is kept.
type Noticed struct {
	Fact
	FoundAt time.Time
	GoneAt  time.Time // when it no longer held; zero: it holds, or has happened
}

// InboxStore keeps what people have read of the facts of accounts.
type InboxStore interface {
	// Noticed lists the facts that are kept of an account, the newest first.
	Noticed(ctx context.Context, account string) ([]Noticed, error)
	// ReadUntil is when the last fact was found that a person has read, zero: none.
	ReadUntil(ctx context.Context, person, account string) (time.Time, error)
	// MarkRead marks the facts of an account as read by a person that were found until then. What was read stays read.
	MarkRead(ctx context.Context, person, account string, until time.Time) error
	// NoticesVersion is another number after each change of the facts of an account, and of what people have read of them.
	NoticesVersion(ctx context.Context, account string) (int64, error)
}

// Letter is a mail that is due: all facts of a cause that were not yet reported to an account.
type Letter struct {
	Account  string
	Cause    Cause
	Facts    []Fact    // the oldest first, at most 50; none when all have ended
	FoundAt  time.Time // the first of them
	Attempts int       // begun, this one included
	Fence    int64     // of the claim
}

// MailOutcome is what follows an attempt.
type MailOutcome struct {
	Done   bool      // sent or given up: the facts of the letter do not wait any more
	NextAt time.Time // no mail of the cause before
	Words  string    // why the attempt failed, for operators; "" when it did not
}

// MailStore is the queue of mails. It holds at most one of each cause and account.
type MailStore interface {
	// ClaimMails hands out at most n mails that are due and not claimed, the longest due first, each until the claim ends.
	ClaimMails(ctx context.Context, now, until time.Time, n int) ([]Letter, error)
	// EndMail ends a claim. It does nothing, and says so, when the mail was handed to someone else meanwhile.
	EndMail(ctx context.Context, l *Letter, o MailOutcome) (done bool, err error)
}

// Store is all of them.
type Store interface {
	SettingsStore
	FactStore
	InboxStore
	MailStore
	// AddDelivery puts an event into the outbox of webhooks.
	AddDelivery(ctx context.Context, d webhook.Delivery) error
}
