package auth

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

const sessionToken = "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA=="

// The signatures of the test suite that AWS publishes for version 4.
func TestSignatureSuite(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, method, path, body, session string
		fields                            http.Header
		names, want                       string
	}{
		{"get-vanilla", "GET", "/", "", "", nil, "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
		{"post-vanilla", "POST", "/", "", "", nil, "host;x-amz-date", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
		{"post-vanilla-query", "POST", "/?Param1=value1", "", "", nil, "host;x-amz-date", "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
		{"get-vanilla-query-order-key-case", "GET", "/?Param2=value2&Param1=value1", "", "", nil, "host;x-amz-date", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
		{"get-utf8", "GET", "/\u1234", "", "", nil, "host;x-amz-date", "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
		{"get-space", "GET", "/example space/", "", "", nil, "host;x-amz-date", "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
		{"post-header-value-case", "POST", "/", "", "", http.Header{"My-Header1": {"VALUE1"}}, "host;my-header1;x-amz-date", "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
		{"post-x-www-form-urlencoded", "POST", "/", "Param1=value1", "", http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, "content-type;host;x-amz-date", "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"},
		{"post-sts-header-before", "POST", "/", "", sessionToken, nil, "host;x-amz-date;x-amz-security-token", "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			credential := "AKIDEXAMPLE:wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
			if tc.session != "" {
				credential += ":" + tc.session
			}
			now := func() time.Time { return time.Date(2015, 8, 30, 15, 36, 0, 0, time.FixedZone("", 3*3600)) }
			s, err := NewSignature(credential, "us-east-1", "service", now)
			if err != nil {
				t.Fatal(err)
			}
			fields := tc.fields.Clone()
			if fields == nil {
				fields = http.Header{}
			}
			s.sign(tc.method, &Request{Host: "example.amazonaws.com", Path: tc.path, Body: [][]byte{[]byte(tc.body)}}, fields)
			want := "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" + tc.names + ", Signature=" + tc.want
			if got := fields.Get("Authorization"); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if fields.Get("X-Amz-Date") != "20150830T123600Z" || fields.Get("X-Amz-Security-Token") != tc.session {
				t.Errorf("%v", fields)
			}
		})
	}
}

// What is signed is what is sent, and a day has its own key.
func TestSignatureFields(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 23, 59, 59, 0, time.UTC)
	s, err := NewSignature("AKIDEXAMPLE:secret", "eu-central-1", "bedrock", func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	r := &Request{Host: "h", Path: "/model/anthropic.claude-v1%3A0/converse", Body: [][]byte{[]byte("{}")}}
	signature := func() string {
		f, err := s.Fields(context.Background(), r)
		if err != nil || f.Get("Content-Type") != "application/json" {
			t.Fatalf("%v %v", f, err)
		}
		return f.Get("Authorization")
	}
	first := signature()
	if !strings.Contains(first, "SignedHeaders=content-type;host;x-amz-date,") || first != signature() {
		t.Errorf("%s", first)
	}
	now = now.Add(time.Second)
	if next := signature(); !strings.Contains(next, "/20260102/eu-central-1/bedrock/") || next == first {
		t.Errorf("%s", next)
	}
	if s.Refused(nil) {
		t.Error("the same signature again")
	}
	if text, _ := canonicalRequest("POST", r, http.Header{}); !strings.Contains(text, "/model/anthropic.claude-v1%253A0/converse\n") {
		t.Errorf("a path is escaped twice: %s", text)
	}
	for _, bad := range []string{"id", "id:", ":secret", "id:a b", "id:secret:"} {
		if _, err := NewSignature(bad, "r", "s", time.Now); err == nil {
			t.Errorf("%q was taken", bad)
		} else if strings.Contains(err.Error(), "a b") {
			t.Errorf("%v", err)
		}
	}
}
