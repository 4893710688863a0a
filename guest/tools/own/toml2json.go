package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// The layouts of TOML's four kinds of times, by the location that the parser gives them.
func timeKind(t time.Time) (kind, text string) {
	switch t.Location().String() {
	case "datetime-local":
		return "datetime-local", t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return "date-local", t.Format("2006-01-02")
	case "time-local":
		return "time-local", t.Format("15:04:05.999999999")
	}
	return "datetime", t.Format("2006-01-02T15:04:05.999999999Z07:00")
}

func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// A value as JSON has it, or, typed, as toml-test wants it. Infinities and NaN, which JSON
// has not, are strings.
func jsonOf(v any, typed bool) any {
	leaf := func(kind, text string, plain any) any {
		if typed {
			return map[string]string{"type": kind, "value": text}
		}
		return plain
	}
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = jsonOf(value, typed)
		}
		return v
	case []map[string]any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = jsonOf(v[i], typed)
		}
		return all
	case []any:
		for i := range v {
			v[i] = jsonOf(v[i], typed)
		}
		return v
	case time.Time:
		kind, text := timeKind(v)
		return leaf(kind, text, text)
	case int64:
		text := strconv.FormatInt(v, 10)
		return leaf("integer", text, json.Number(text))
	case float64:
		text := floatText(v)
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return leaf("float", text, text)
		}
		return leaf("float", text, json.Number(text))
	case bool:
		return leaf("bool", strconv.FormatBool(v), v)
	case string:
		return leaf("string", v, v)
	}
	return v
}

func toml2json(args []string, in io.Reader, out io.Writer) (int, error) {
	flags := flag.NewFlagSet("toml2json", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	pretty := flags.Bool("p", false, "")
	typed := flags.Bool("t", false, "")
	if err := flags.Parse(args); err != nil || flags.NArg() > 1 {
		return 2, fmt.Errorf("%w; toml2json [-p] [-t] [FILE]", errUsage)
	}
	text, err := read(flags.Arg(0), in)
	if err != nil {
		return 1, err
	}
	document := map[string]any{}
	if _, err := toml.NewDecoder(bytes.NewReader(text)).Decode(&document); err != nil {
		return 1, err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if *pretty {
		encoder.SetIndent("", "  ")
	}
	return 0, encoder.Encode(jsonOf(document, *typed))
}
