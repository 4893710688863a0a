package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
)

const uuidsMax = 10000

// RFC 9562, section 6.6.
var namespaces = map[string]uuid.UUID{
	"dns": uuid.NameSpaceDNS, "url": uuid.NameSpaceURL, "oid": uuid.NameSpaceOID, "x500": uuid.NameSpaceX500,
}

func parseID(text string) (uuid.UUID, error) {
	if uuid.Validate(text) != nil { // what Parse takes, and its braces
		return uuid.Nil, fmt.Errorf("'%s' is no UUID: 32 hexadecimal digits, with or without dashes", text)
	}
	return uuid.Parse(text)
}

// Ticks of 100 ns since 1582. Those of version 6 the package reads as if its four bits of
// version were of the time.
func timeOf(u uuid.UUID) uuid.Time {
	if u.Version() != 6 {
		return u.Time()
	}
	high, low := binary.BigEndian.Uint64(u[:])>>16, binary.BigEndian.Uint16(u[6:])&0xfff
	return uuid.Time(high<<12 | uint64(low))
}

func describe(u uuid.UUID, out io.Writer) {
	fmt.Fprintf(out, "uuid: %v\n", u)
	if u == uuid.Nil {
		fmt.Fprintln(out, "nil")
		return
	}
	names := map[uuid.Variant]string{uuid.Reserved: "NCS", uuid.Microsoft: "Microsoft", uuid.Future: "reserved"}
	if name, other := names[u.Variant()]; other {
		fmt.Fprintln(out, "variant:", name)
		return
	}
	fmt.Fprintf(out, "variant: RFC 9562\nversion: %d\n", u.Version())
	switch u.Version() {
	case 1, 6, 7:
		fmt.Fprintln(out, "time:", time.Unix(timeOf(u).UnixTime()).UTC().Format("2006-01-02T15:04:05.000Z"))
	}
}

func uuidTool(args []string, _ io.Reader, out io.Writer) (int, error) {
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
	make := uuid.NewRandom
	switch *version {
	case 4:
	case 5:
		within, known := namespaces[strings.ToLower(*space)]
		if !known {
			var err error
			if within, err = parseID(*space); err != nil {
				return 2, fmt.Errorf("--namespace of version 5 is dns, url, oid, x500 or a UUID: %v", err)
			}
		}
		make = func() (uuid.UUID, error) { return uuid.NewSHA1(within, []byte(*name)), nil }
	case 7:
		make = uuid.NewV7
	default:
		return 2, fmt.Errorf("version %d cannot be made; 4, 5 and 7 can", *version)
	}
	for i := 0; i < *count; i++ {
		u, err := make()
		if err != nil {
			return 1, err
		}
		text := u.String()
		if *upper {
			text = strings.ToUpper(text)
		}
		fmt.Fprintln(out, text)
	}
	return 0, nil
}
