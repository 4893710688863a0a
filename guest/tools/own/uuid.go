package main

import (
	"crypto/rand"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

const uuidsMax = 10000

type id [16]byte

// RFC 9562, section 6.6.
var namespaces = map[string]string{
	"dns":  "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
	"url":  "6ba7b811-9dad-11d1-80b4-00c04fd430c8",
	"oid":  "6ba7b812-9dad-11d1-80b4-00c04fd430c8",
	"x500": "6ba7b814-9dad-11d1-80b4-00c04fd430c8",
}

func (u id) String() string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", u[:4], u[4:6], u[6:8], u[8:10], u[10:])
}

func parseID(text string) (u id, err error) {
	plain := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "urn:uuid:"), "{"), "}")
	shape := len(plain) == 36 && plain[8] == '-' && plain[13] == '-' && plain[18] == '-' && plain[23] == '-'
	digits := strings.ReplaceAll(plain, "-", "")
	if (shape && len(digits) == 32) || len(plain) == 32 {
		_, err = hex.Decode(u[:], []byte(digits))
	}
	if err != nil || (!shape && len(plain) != 32) || len(digits) != 32 {
		return u, fmt.Errorf("'%s' is no UUID: 32 hexadecimal digits, with or without dashes", text)
	}
	return u, nil
}

func (u *id) mark(version byte) {
	u[6] = u[6]&0x0f | version<<4
	u[8] = u[8]&0x3f | 0x80
}

func random() (u id) {
	_, _ = rand.Read(u[:])
	u.mark(4)
	return u
}

func named(space id, name string) (u id) {
	h := sha1.New()
	h.Write(space[:])
	io.WriteString(h, name)
	copy(u[:], h.Sum(nil))
	u.mark(5)
	return u
}

// Those of one millisecond are ordered by twelve bits that count (RFC 9562, 6.2, method 1).
type ordered struct {
	ms    uint64
	count uint16
}

func (o *ordered) next(now time.Time) (u id) {
	_, _ = rand.Read(u[:])
	if ms := uint64(now.UnixMilli()); ms > o.ms {
		o.ms, o.count = ms, binary.BigEndian.Uint16(u[6:])&0x7ff
	} else if o.count++; o.count > 0xfff {
		o.ms, o.count = o.ms+1, 0
	}
	binary.BigEndian.PutUint64(u[:], o.ms<<16|uint64(o.count))
	u.mark(7)
	return u
}

func describe(u id, out io.Writer) {
	fmt.Fprintf(out, "uuid: %v\n", u)
	variant, version := u[8]>>5, u[6]>>4
	switch {
	case u == id{}:
		fmt.Fprintln(out, "nil")
		return
	case variant < 4:
		fmt.Fprintln(out, "variant: NCS")
		return
	case variant == 6:
		fmt.Fprintln(out, "variant: Microsoft")
		return
	case variant == 7:
		fmt.Fprintln(out, "variant: reserved")
		return
	}
	fmt.Fprintf(out, "variant: RFC 9562\nversion: %d\n", version)
	const layout = "2006-01-02T15:04:05.000Z"
	// Ticks of 100 ns since 1582, which lie in another order in version 6.
	high, mid, low := uint64(binary.BigEndian.Uint32(u[:])), uint64(binary.BigEndian.Uint16(u[4:])),
		uint64(binary.BigEndian.Uint16(u[6:])&0xfff)
	at := func(ticks uint64) string {
		since := int64(ticks) - 0x01b21dd213814000
		return time.Unix(since/1e7, since%1e7*100).UTC().Format(layout)
	}
	switch version {
	case 1:
		fmt.Fprintln(out, "time:", at(low<<48|mid<<32|high))
	case 6:
		fmt.Fprintln(out, "time:", at(high<<28|mid<<12|low))
	case 7:
		ms := int64(binary.BigEndian.Uint64(u[:]) >> 16)
		fmt.Fprintln(out, "time:", time.UnixMilli(ms).UTC().Format(layout))
	}
}

func uuid(args []string, _ io.Reader, out io.Writer) (int, error) {
	flags := flag.NewFlagSet("uuid", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	version := flags.Int("v", 4, "")
	flags.IntVar(version, "version", 4, "")
	count := flags.Int("n", 1, "")
	space := flags.String("namespace", "", "")
	name := flags.String("name", "", "")
	upper := flags.Bool("u", false, "")
	parse := flags.String("parse", "", "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 2, fmt.Errorf("%w; options: -v 4|5|7, -n COUNT, --namespace dns|url|oid|x500|UUID, --name NAME, -u, --parse UUID", errUsage)
	}
	if *parse != "" {
		u, err := parseID(*parse)
		if err != nil {
			return 1, err
		}
		describe(u, out)
		return 0, nil
	}
	if *count < 1 || *count > uuidsMax {
		return 2, fmt.Errorf("-n is %d, and may be 1 to %d", *count, uuidsMax)
	}
	make := random
	switch *version {
	case 4:
	case 5:
		text, known := namespaces[strings.ToLower(*space)]
		if !known {
			text = *space
		}
		u, err := parseID(text)
		if err != nil {
			return 2, fmt.Errorf("--namespace of version 5 is dns, url, oid, x500 or a UUID: %v", err)
		}
		make = func() id { return named(u, *name) }
	case 7:
		o := &ordered{}
		make = func() id { return o.next(time.Now()) }
	default:
		return 2, fmt.Errorf("version %d cannot be made; 4, 5 and 7 can", *version)
	}
	for i := 0; i < *count; i++ {
		text := make().String()
		if *upper {
			text = strings.ToUpper(text)
		}
		fmt.Fprintln(out, text)
	}
	return 0, nil
}
