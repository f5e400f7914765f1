package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"weir/internal/fault"
)

const (
	secretPrefix = "whsec_"
	secretBytes  = 32
	// "Standard Webhooks", Signature scheme: secrets have 24 to 64 bytes.
	leastBytes, mostBytes = 24, 64
)

// NewSecret makes a secret that signatures are made with: "whsec_" and base64.
func NewSecret() string {
	key := make([]byte, secretBytes)
	_, _ = rand.Read(key) // never fails: it ends the program instead
	return secretPrefix + base64.StdEncoding.EncodeToString(key)
}

// Signature is the value of webhook-signature ("Standard Webhooks", Signature scheme): one signature for each secret, separated by
// spaces. It fails for an invalid secret, and without secrets: an event is never sent unsigned.
func Signature(secrets []string, id string, at time.Time, payload []byte) (string, error) {
	head := id + "." + strconv.FormatInt(at.Unix(), 10) + "."
	var all []string
	for _, s := range secrets {
		key, err := keyOf(s)
		if err != nil {
			return "", err
		}
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(head)) // into memory
		_, _ = mac.Write(payload)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if len(all) == 0 {
		return "", fault.Wrap("webhook.Signature", errNoSecret)
	}
	return strings.Join(all, " "), nil
}

var (
	errNoSecret = fault.New(fault.Internal, "webhook", "there is no secret to sign with")
	errForm     = fault.New(fault.Internal, "webhook", "this is no webhook secret")
)

func keyOf(secret string) ([]byte, error) {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || len(key) < leastBytes || len(key) > mostBytes {
		return nil, fault.Wrap("webhook.Signature", errForm) // which shows nothing of it
	}
	return key, nil
}
