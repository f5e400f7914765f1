package batches

import (
	"strconv"
	"strings"
	"time"

	"weir/internal/batch"
	"weir/internal/fault"
	"weir/internal/rawjson"
	"weir/internal/task"
	"weir/internal/wire"
)

const op = "batches.Decode"

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// Window is the one completion_window.
const Window = "24h"

// Limits of expires_after and output_expires_after, in seconds.
const (
	leastKeep = 3600
	mostKeep  = 30 * 24 * 3600
)

// Create is the body of POST /v1/batches.
type Create struct {
	Input    string
	Endpoint string
	Metadata string
	Keep     time.Duration // of the results; 0: not said
}

// Decode reads the body of POST /v1/batches. It fails with fault.Invalid and the other kinds of a malformed body.
func Decode(body []byte) (c Create, err error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return c, err
	}
	d := wire.NewReader(body, op)
	window := ""
	if !d.Object() {
		return c, fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "input_file_id":
			c.Input, _ = d.Stored(maxName)
		case "endpoint":
			c.Endpoint, _ = d.Enum(Endpoints)
		case "completion_window":
			window, _ = d.Enum([]string{Window})
		case "metadata":
			if d.Kind() == rawjson.Null {
				d.Skip()
			} else {
				c.Metadata = string(d.Metadata())
			}
		case "output_expires_after":
			c.Keep = expiry(&d)
		default:
			d.Skip()
		}
	}
	if err := d.Err(); err != nil {
		return c, err
	}
	for _, x := range [...]struct{ name, value string }{{"input_file_id", c.Input}, {"endpoint", c.Endpoint}, {"completion_window", window}} {
		if x.value == "" {
			return c, fault.Field(op, x.name, "%s is required.", x.name)
		}
	}
	return c, nil
}

// expiry reads {"anchor":"created_at","seconds":3600}.
func expiry(d *wire.Reader) (keep time.Duration) {
	if !d.Object() {
		return 0
	}
	for name, ok := d.Member(); ok; name, ok = d.Member() {
		switch string(name) {
		case "anchor":
			d.Enum([]string{"created_at"})
		case "seconds":
			n, _ := d.Int(leastKeep, mostKeep)
			keep = time.Duration(n) * time.Second
		default:
			d.Skip()
		}
	}
	return keep
}

// Upload are the fields of a form that uploads a file.
type Upload struct {
	Purpose string
	Keep    time.Duration // 0: not said
}

// DecodeUpload reads the fields of the form of POST /v1/files, apart from the file.
func DecodeUpload(fields []task.Field) (u Upload, err error) {
	for i := range fields {
		value := fields[i].Value
		switch fields[i].Name {
		case "purpose":
			if u.Purpose = value; value != batch.PurposeInput {
				return u, fault.Field(op, "purpose", "purpose must be batch: files are for batches alone.")
			}
		case "expires_after[anchor]":
			if value != "created_at" {
				return u, fault.Field(op, "expires_after.anchor", "expires_after.anchor must be created_at.")
			}
		case "expires_after[seconds]":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil || n < leastKeep || n > mostKeep {
				return u, fault.Field(op, "expires_after.seconds", "expires_after.seconds must be a whole number from %d to %d.", leastKeep, mostKeep)
			}
			u.Keep = time.Duration(n) * time.Second
		}
	}
	if u.Purpose == "" {
		return u, fault.Field(op, "purpose", "purpose is required, and must be batch.")
	}
	return u, nil
}

// DecodeMessages reads the body of POST /v1/messages/batches, and returns its requests as the lines of a file. No more than most requests are
// accepted, and none of more than mostLine bytes.
func DecodeMessages(body []byte, most, mostLine int64) (file []byte, total int64, err error) {
	if err := rawjson.Check(body, rawjson.Defaults); err != nil {
		return nil, 0, err
	}
	if rawjson.KindOf(body) != rawjson.Object {
		return nil, 0, fault.New(fault.Invalid, op, "The body must be a JSON object.")
	}
	requests := rawjson.Find(body, "requests")
	if rawjson.KindOf(requests) != rawjson.Array {
		return nil, 0, fault.Field(op, "requests", "requests is required: a list of requests, each with custom_id and params.")
	}
	seen := map[string]int64{}
	sample := batch.Batch{Shape: batch.Messages, Endpoint: MessagesEndpoint}
	file = make([]byte, 0, len(requests))
	for e := rawjson.ElementsOf(requests); e.Next(); total++ {
		at := "requests[" + itoa(total) + "]"
		if total == most {
			return nil, 0, fault.Field(op, "requests", "requests has more than %d entries. Make several batches.", most)
		}
		begin := len(file)
		file = rawjson.AppendOneLine(file, e.Value)
		if int64(len(file)-begin) > mostLine {
			return nil, 0, fault.Field(op, at, "%s is larger than %d bytes.", at, mostLine)
		}
		line, problem := Wire{}.Line(&sample, file[begin:])
		if problem == nil {
			if first, twice := seen[line.CustomID]; twice {
				problem = &batch.Problem{Param: "custom_id", Message: "custom_id is that of requests[" + itoa(first) + "], too. Each must be unique."}
			}
		}
		if problem != nil {
			param := strings.TrimSuffix(at+"."+problem.Param, ".")
			return nil, 0, fault.Field(op, param, "%s", strings.Replace(problem.Message, "The line", at, 1))
		}
		seen[line.CustomID] = total
		file = append(file, '\n')
	}
	if total == 0 {
		return nil, 0, fault.Field(op, "requests", "requests must have at least one entry.")
	}
	return file, total, nil
}
