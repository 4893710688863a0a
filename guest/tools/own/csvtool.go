package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Cells of a table that is made larger than its input, and columns of one row.
const (
	csvCellsMax   = 50_000_000
	csvColumnsMax = 1_000_000
)

// One call of csvtool: its options, and the files that its command works on.
type csvCall struct {
	sep, outSep byte
	fromZero    bool
	output      string
	in          io.Reader
	files       []string
	w           csvWriter
}

type csvCommand struct {
	arguments int // before the files
	run       func(c *csvCall, args []string) error
}

var csvCommands map[string]csvCommand

func init() {
	csvCommands = map[string]csvCommand{
		"col": {1, csvCol}, "namedcol": {1, csvNamed}, "width": {0, csvWidth}, "height": {0, csvHeight},
		"setcolumns": {1, csvSetColumns}, "setrows": {1, csvSetRows}, "head": {1, csvHead},
		"take": {1, csvHead}, "drop": {1, csvDrop}, "cat": {0, csvCat}, "paste": {0, csvPaste},
		"pastecol": {2, csvPasteCol}, "join": {2, csvJoin}, "square": {0, csvSquare}, "trim": {1, csvTrim},
		"sub": {4, csvSub}, "replace": {1, csvReplace}, "transpose": {0, csvTranspose},
		"format": {1, csvFormat}, "readable": {0, csvReadable},
	}
}

func separator(text string) (byte, error) {
	switch text {
	case "TAB":
		return '\t', nil
	case "COMMA":
		return ',', nil
	case "SPACE":
		return ' ', nil
	case "":
		return 0, errors.New("a separator is a character, or TAB, COMMA or SPACE")
	}
	return text[0], nil
}

// Options stand before the command.
func (c *csvCall) options(args []string) ([]string, error) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		name := args[0]
		args = args[1:]
		if name == "-z" {
			c.fromZero = true
			continue
		}
		if len(args) == 0 || (name != "-t" && name != "-u" && name != "-o") {
			return nil, fmt.Errorf("%w: %s; options are -t SEPARATOR, -u SEPARATOR, -o FILE and -z", errUsage, name)
		}
		var err error
		switch name {
		case "-t":
			c.sep, err = separator(args[0])
		case "-u":
			c.outSep, err = separator(args[0])
		case "-o":
			c.output = args[0]
		}
		if err != nil {
			return nil, err
		}
		args = args[1:]
	}
	return args, nil
}

func csvtool(args []string, in io.Reader, out io.Writer) (int, error) {
	c := &csvCall{sep: ',', in: in}
	args, err := c.options(args)
	if err != nil {
		return 2, err
	}
	if c.outSep == 0 {
		c.outSep = ','
	}
	names := make([]string, 0, len(csvCommands))
	for name := range csvCommands {
		names = append(names, name)
	}
	sort.Strings(names)
	if len(args) == 0 {
		return 2, fmt.Errorf("%w: a command is missing; there are %s", errUsage, strings.Join(names, ", "))
	}
	command, known := csvCommands[args[0]]
	if !known {
		return 2, fmt.Errorf("%w: there is no command %s; there are %s", errUsage, args[0], strings.Join(names, ", "))
	}
	args = args[1:]
	if len(args) < command.arguments {
		return 2, fmt.Errorf("%w: %d arguments and files are expected", errUsage, command.arguments)
	}
	c.files = args[command.arguments:]
	if c.output != "" {
		file, err := os.Create(c.output)
		if err != nil {
			return 2, err
		}
		defer file.Close()
		buffered := bufio.NewWriter(file)
		defer buffered.Flush()
		out = buffered
	}
	c.w = csvWriter{out, c.outSep}
	if err := command.run(c, args[:command.arguments]); err != nil {
		return 2, err
	}
	return 0, nil
}

// ---- helpers ---------------------------------------------------------------------

func (c *csvCall) each(do func(r row) error) error {
	return eachRow(c.files, c.in, c.sep, func(_ int, r row) error { return do(r) })
}

func (c *csvCall) load() (all []row, err error) {
	err = c.each(func(r row) error { all = append(all, r); return nil })
	return all, err
}

func (c *csvCall) loadOne(name string) (all []row, err error) {
	err = rowsOf(name, c.in, c.sep, func(r row) error { all = append(all, r); return nil })
	return all, err
}

func (c *csvCall) put(all []row) error {
	for _, r := range all {
		if err := c.w.put(r); err != nil {
			return err
		}
	}
	return nil
}

func widest(all []row) (n int) {
	for _, r := range all {
		n = max(n, len(r))
	}
	return n
}

func cell(r row, i int) string {
	if i >= 0 && i < len(r) {
		return r[i]
	}
	return ""
}

func columns(r row, n int) row {
	if n <= len(r) {
		return r[:n]
	}
	return append(r[:len(r):len(r)], make(row, n-len(r))...)
}

func trimRight(r row) row {
	for len(r) > 0 && r[len(r)-1] == "" {
		r = r[:len(r)-1]
	}
	return r
}

func number(text, what string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s is '%s', and should be a number from 0", what, text)
	}
	return n, nil
}

// A range of columns, from 0; `to` of one without an end is math.MaxInt.
type span struct{ from, to int }

func (c *csvCall) spans(text string) (all []span, err error) {
	first := 1
	if c.fromZero {
		first = 0
	}
	for _, part := range strings.Split(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		a, e1 := strconv.Atoi(from)
		b, e2 := a, error(nil)
		if ranged {
			if b = math.MaxInt; to != "" {
				b, e2 = strconv.Atoi(to)
			}
		}
		if e1 != nil || e2 != nil || a < first || b != math.MaxInt && b-first >= csvColumnsMax || a-first >= csvColumnsMax {
			return nil, fmt.Errorf("'%s' is no list of columns, such as 1,3-5,8-", text)
		}
		if b != math.MaxInt {
			b -= first
		}
		all = append(all, span{a - first, b})
	}
	return all, nil
}

// The columns of spans; those without an end go to the end of a row of that width.
func picks(all []span, width int) (out []int) {
	for _, s := range all {
		for i := s.from; i <= s.to && (s.to != math.MaxInt || i < width); i++ {
			out = append(out, i)
		}
	}
	return out
}

func pick(r row, which []int) row {
	out := make(row, len(which))
	for i, k := range which {
		out[i] = cell(r, k)
	}
	return out
}

// ---- commands --------------------------------------------------------------------

func csvCol(c *csvCall, args []string) error {
	wanted, err := c.spans(args[0])
	if err != nil {
		return err
	}
	return c.each(func(r row) error { return c.w.put(pick(r, picks(wanted, len(r)))) })
}

func csvNamed(c *csvCall, args []string) error {
	names := strings.Split(args[0], ",")
	if err := c.w.put(names); err != nil {
		return err
	}
	for _, file := range c.files {
		which := []int(nil)
		err := rowsOf(file, c.in, c.sep, func(r row) error {
			if which != nil {
				return c.w.put(pick(r, which))
			}
			for _, name := range names {
				found := -1
				for i, head := range r {
					if head == name {
						found = i
						break
					}
				}
				if found < 0 {
					return fmt.Errorf("%s has no column with the heading '%s'; there are %s", file, name, strings.Join(r, ", "))
				}
				which = append(which, found)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func csvWidth(c *csvCall, _ []string) error {
	n := 0
	err := c.each(func(r row) error { n = max(n, len(r)); return nil })
	if err == nil {
		fmt.Fprintln(c.w.out, n)
	}
	return err
}

func csvHeight(c *csvCall, _ []string) error {
	n := 0
	err := c.each(func(r row) error { n++; return nil })
	if err == nil {
		fmt.Fprintln(c.w.out, n)
	}
	return err
}

func csvSetColumns(c *csvCall, args []string) error {
	n, err := number(args[0], "the number of columns")
	if err != nil {
		return err
	}
	if n > csvColumnsMax {
		return fmt.Errorf("a row has at most %d columns", csvColumnsMax)
	}
	return c.each(func(r row) error { return c.w.put(columns(r, n)) })
}

func csvSetRows(c *csvCall, args []string) error {
	n, err := number(args[0], "the number of rows")
	if err != nil {
		return err
	}
	seen := 0
	if err := c.each(func(r row) error {
		if seen++; seen > n {
			return nil
		}
		return c.w.put(r)
	}); err != nil {
		return err
	}
	for ; seen < min(n, csvCellsMax); seen++ {
		if err := c.w.put(nil); err != nil {
			return err
		}
	}
	return nil
}

func csvHead(c *csvCall, args []string) error {
	n, err := number(args[0], "the number of rows")
	if err != nil {
		return err
	}
	enough := errors.New("enough")
	err = c.each(func(r row) error {
		if n--; n < 0 {
			return enough
		}
		return c.w.put(r)
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

func csvDrop(c *csvCall, args []string) error {
	n, err := number(args[0], "the number of rows")
	if err != nil {
		return err
	}
	return c.each(func(r row) error {
		if n--; n >= 0 {
			return nil
		}
		return c.w.put(r)
	})
}

func csvCat(c *csvCall, _ []string) error { return c.each(c.w.put) }

func csvPaste(c *csvCall, _ []string) error {
	var out []row
	for _, name := range c.files {
		all, err := c.loadOne(name)
		if err != nil {
			return err
		}
		for i, r := range all {
			if i == len(out) {
				out = append(out, nil)
			}
			out[i] = append(out[i], r...)
		}
	}
	return c.put(out)
}

func csvPasteCol(c *csvCall, args []string) error {
	to, err := c.spans(args[0])
	if err != nil {
		return err
	}
	from, err := c.spans(args[1])
	if err != nil {
		return err
	}
	if len(c.files) != 2 {
		return fmt.Errorf("%w: pastecol takes two files", errUsage)
	}
	into, err := c.loadOne(c.files[0])
	if err != nil {
		return err
	}
	with, err := c.loadOne(c.files[1])
	if err != nil {
		return err
	}
	if len(into) != len(with) {
		return fmt.Errorf("the files have %d and %d rows, and should have as many", len(into), len(with))
	}
	places, sources := picks(to, widest(into)), picks(from, widest(with))
	for i := range into {
		for k := 0; k < min(len(places), len(sources)); k++ {
			if places[k] >= len(into[i]) {
				into[i] = columns(into[i], places[k]+1)
			}
			into[i][places[k]] = cell(with[i], sources[k])
		}
	}
	return c.put(into)
}

func csvJoin(c *csvCall, args []string) error {
	keys, err := c.spans(args[0])
	if err != nil {
		return err
	}
	copied, err := c.spans(args[1])
	if err != nil {
		return err
	}
	type entry struct {
		key   row
		parts map[int]row
	}
	entries := map[string]*entry{}
	widths := make([]int, len(c.files))
	for i, name := range c.files {
		all, err := c.loadOne(name)
		if err != nil {
			return err
		}
		which, what := picks(keys, widest(all)), picks(copied, widest(all))
		widths[i] = len(what)
		for _, r := range all {
			key := pick(r, which)
			id := strings.Join(key, "\x00")
			e := entries[id]
			if e == nil {
				e = &entry{key, map[int]row{}}
				entries[id] = e
			}
			if _, twice := e.parts[i]; twice {
				e.parts[i] = row{"!MULTIPLE VALUES"}
			} else {
				e.parts[i] = pick(r, what)
			}
		}
	}
	ids := make([]string, 0, len(entries))
	for id := range entries {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		out := append(row{}, entries[id].key...)
		for i := range c.files {
			out = append(out, columns(entries[id].parts[i], widths[i])...)
		}
		if err := c.w.put(out); err != nil {
			return err
		}
	}
	return nil
}

func csvSquare(c *csvCall, _ []string) error {
	all, err := c.load()
	if err != nil {
		return err
	}
	width := widest(all)
	if width > 0 && len(all) > csvCellsMax/width {
		return fmt.Errorf("%d rows of %d columns are more than %d cells", len(all), width, csvCellsMax)
	}
	for _, r := range all {
		if err := c.w.put(columns(r, width)); err != nil {
			return err
		}
	}
	return nil
}

func csvTrim(c *csvCall, args []string) error {
	if strings.Trim(args[0], "tlrb") != "" || args[0] == "" {
		return fmt.Errorf("'%s' does not say what is trimmed: letters of tlrb, for top, left, right and bottom", args[0])
	}
	all, err := c.load()
	if err != nil {
		return err
	}
	has := func(side string) bool { return strings.Contains(args[0], side) }
	empty := func(r row) bool { return len(trimRight(r)) == 0 }
	for has("t") && len(all) > 0 && empty(all[0]) {
		all = all[1:]
	}
	for has("b") && len(all) > 0 && empty(all[len(all)-1]) {
		all = all[:len(all)-1]
	}
	if has("r") {
		for i := range all {
			all[i] = trimRight(all[i])
		}
	}
	if left := widest(all); has("l") {
		for _, r := range all {
			for i, text := range r {
				if text != "" {
					left = min(left, i)
					break
				}
			}
		}
		for i := range all {
			all[i] = all[i][min(left, len(all[i])):]
		}
	}
	return c.put(all)
}

func csvSub(c *csvCall, args []string) error {
	var n [4]int
	for i := range n {
		var err error
		if n[i], err = number(args[i], "a row, a column, or a number of them"); err != nil {
			return err
		}
	}
	first := 1
	if c.fromZero {
		first = 0
	}
	top, left, rows, width := n[0]-first, n[1]-first, n[2], n[3]
	if top < 0 || left < 0 {
		return fmt.Errorf("rows and columns begin with %d", first)
	}
	if width > csvColumnsMax || width > 0 && rows > csvCellsMax/width || rows > csvCellsMax {
		return fmt.Errorf("%d rows of %d columns are more than %d cells", rows, width, csvCellsMax)
	}
	all, err := c.load()
	if err != nil {
		return err
	}
	for i := top; i < top+rows; i++ {
		var r row
		if i < len(all) && left < len(all[i]) {
			r = all[i][left:]
		}
		if err := c.w.put(columns(r, width)); err != nil {
			return err
		}
	}
	return nil
}

func csvReplace(c *csvCall, args []string) error {
	wanted, err := c.spans(args[0])
	if err != nil {
		return err
	}
	if len(c.files) != 2 {
		return fmt.Errorf("%w: replace takes two files", errUsage)
	}
	update, err := c.loadOne(c.files[0])
	if err != nil {
		return err
	}
	original, err := c.loadOne(c.files[1])
	if err != nil {
		return err
	}
	which := picks(wanted, max(widest(update), widest(original)))
	id := func(r row) string { return strings.Join(pick(r, which), "\x00") }
	replaced := map[string]bool{}
	for _, r := range update {
		replaced[id(r)] = true
	}
	for _, r := range original {
		if !replaced[id(r)] {
			if err := c.w.put(r); err != nil {
				return err
			}
		}
	}
	return c.put(update)
}

func csvTranspose(c *csvCall, _ []string) error {
	all, err := c.load()
	if err != nil {
		return err
	}
	for i := 0; i < widest(all); i++ {
		out := make(row, len(all))
		for k, r := range all {
			out[k] = cell(r, i)
		}
		if err := c.w.put(trimRight(out)); err != nil {
			return err
		}
	}
	return nil
}

// A format in pieces: text, and columns between.
type piece struct {
	text   string
	column int // -1: only text
}

func formatPieces(format string, first int) (all []piece, err error) {
	text := strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t").Replace(format)
	plain := ""
	for i := 0; i < len(text); i++ {
		if text[i] != '%' || i+1 == len(text) {
			plain += text[i : i+1]
			continue
		}
		if text[i+1] == '%' {
			plain += "%"
			i++
			continue
		}
		at := i + 1
		round := text[at] == '('
		if round {
			at++
		}
		end := at
		for end < len(text) && text[end] >= '0' && text[end] <= '9' {
			end++
		}
		n, bad := strconv.Atoi(text[at:end])
		if round && (bad != nil || end == len(text) || text[end] != ')') {
			return nil, errors.New("in the format, %( is not followed by a number and )")
		}
		if bad != nil || n < first {
			plain += "%"
			continue
		}
		all = append(all, piece{plain, n - first})
		plain = ""
		if i = end - 1; round {
			i = end
		}
	}
	return append(all, piece{plain, -1}), nil
}

func csvFormat(c *csvCall, args []string) error {
	first := 1
	if c.fromZero {
		first = 0
	}
	pieces, err := formatPieces(args[0], first)
	if err != nil {
		return err
	}
	return c.each(func(r row) error {
		var line []byte
		for _, p := range pieces {
			line = append(append(line, p.text...), cell(r, p.column)...)
		}
		_, err := c.w.out.Write(line)
		return err
	})
}

func csvReadable(c *csvCall, _ []string) error {
	all, err := c.load()
	if err != nil {
		return err
	}
	widths := make([]int, widest(all))
	for _, r := range all {
		for i, text := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(text))
		}
	}
	for _, r := range all {
		var line []byte
		for i, text := range r {
			line = append(line, text...)
			if i+1 < len(r) {
				line = append(line, strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+1)...)
			}
		}
		if _, err := c.w.out.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}
