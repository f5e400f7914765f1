package kit

import (
	"encoding/binary"
	"hash/crc32"
	"strings"
)

// EventFrame appends a message of Amazon's event stream format: two lengths and their checksum, headers, payload, and the checksum of
// the whole message.
func EventFrame(dst []byte, f Frame) []byte {
	headers := eventHeaders(f.Event)
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(16+len(headers)+len(f.Data)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(headers)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
	dst = append(append(dst, headers...), f.Data...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
}

func eventHeaders(event string) (dst []byte) {
	add := func(name, value string) {
		dst = append(append(dst, byte(len(name))), name...)
		dst = append(binary.BigEndian.AppendUint16(append(dst, 7), uint16(len(value))), value...) // 7: a string
	}
	if name, found := strings.CutPrefix(event, ExceptionMark); found {
		add(":exception-type", name)
		add(":content-type", "application/json")
		add(":message-type", "exception")
		return dst
	}
	add(":event-type", event)
	add(":content-type", "application/json")
	add(":message-type", "event")
	return dst
}

// eventHead begins a message with a payload of the given length in bytes.
func eventHead(event string, payload int64) []byte {
	headers := eventHeaders(event)
	dst := binary.BigEndian.AppendUint32(nil, uint32(min(16+int64(len(headers))+payload, 1<<31)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(headers)))
	dst = binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst))
	return append(dst, headers...)
}

// ExceptionMark is the prefix of the name of a frame that is an exception.
const ExceptionMark = "!"
