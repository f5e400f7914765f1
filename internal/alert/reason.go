package alert

import "strings"

// Reason is why a message did not arrive, where this gateway knows it. Pages say it in the language of their reader; what receivers say stays as it is.
type Reason string

// The reasons.
const (
	NoMail    Reason = "no_mail"    // the configuration names no mail server
	Forbidden Reason = "forbidden"  // the address must not be called
	NoAnswer  Reason = "no_answer"  // words: of the network
	Status    Reason = "status"     // words: the status and the body
	NoKey     Reason = "no_key"     // the secret cannot be decrypted
	BadSecret Reason = "bad_secret" // messages cannot be signed with it
	NoWay     Reason = "no_way"     // another version added the channel
)

var reasons = map[Reason]string{
	NoMail: "this gateway has no mail server: set mail.host", Forbidden: "the address may not be called", NoAnswer: "no answer came", Status: "it answered with status",
	NoKey: "the secret cannot be decrypted: the master key is missing or another one", BadSecret: "messages cannot be signed with the secret", NoWay: "this version of Weir does not know this way",
}

// Reasons lists all, in the order of the constants.
var Reasons = []Reason{NoMail, Forbidden, NoAnswer, Status, NoKey, BadSecret, NoWay}

// Sentence is the reason and the words together, in English.
func (r Reason) Sentence(words string) string {
	switch {
	case r == "":
		return words
	case words == "":
		return reasons[r]
	case r == Status:
		return reasons[r] + " " + words
	}
	return strings.TrimSuffix(reasons[r], ".") + ": " + words
}
