package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

type row []string

// Reads CSV as Debian's csvtool does: RFC 4180, where white space around a cell that is not
// quoted is no part of it, and quotes inside one are plain characters.
type csvReader struct {
	in   *bufio.Reader
	sep  byte
	cell []byte
	line int
}

func newCSVReader(in io.Reader, sep byte) *csvReader {
	return &csvReader{in: bufio.NewReaderSize(in, 1<<16), sep: sep}
}

func (r *csvReader) blank(c byte) bool { return (c == ' ' || c == '\t') && c != r.sep }

// The next row; io.EOF behind the last.
func (r *csvReader) next() (row, error) {
	if _, err := r.in.Peek(1); err != nil {
		return nil, err
	}
	r.line++
	var out row
	for {
		text, last, err := r.next1(len(out) + 1)
		if err != nil {
			return nil, err
		}
		if out = append(out, text); last {
			return out, nil
		}
	}
}

// One cell; `last` of its row.
func (r *csvReader) next1(column int) (text string, last bool, err error) {
	r.cell = r.cell[:0]
	for {
		c, err := r.in.ReadByte()
		switch {
		case err == io.EOF:
			return r.trimmed(), true, nil
		case err != nil:
			return "", false, err
		case c == '"' && len(r.cell) == 0:
			return r.quoted(column)
		case c == r.sep:
			return r.trimmed(), false, nil
		case c == '\n':
			return r.trimmed(), true, nil
		case c == '\r' && r.newline():
			return r.trimmed(), true, nil
		case len(r.cell) == 0 && r.blank(c):
		default:
			r.cell = append(r.cell, c)
		}
	}
}

// Is a line feed next? Then it is taken.
func (r *csvReader) newline() bool {
	b, err := r.in.Peek(1)
	if err != nil || b[0] != '\n' {
		return false
	}
	_, _ = r.in.Discard(1)
	return true
}

func (r *csvReader) trimmed() string {
	n := len(r.cell)
	for n > 0 && r.blank(r.cell[n-1]) {
		n--
	}
	return string(r.cell[:n])
}

func (r *csvReader) quoted(column int) (string, bool, error) {
	for {
		c, err := r.in.ReadByte()
		if err == io.EOF {
			return "", false, fmt.Errorf("row %d, column %d: a quoted cell does not end", r.line, column)
		}
		if err != nil {
			return "", false, err
		}
		if c != '"' {
			r.cell = append(r.cell, c)
			continue
		}
		if b, err := r.in.Peek(1); err == nil && b[0] == '"' {
			_, _ = r.in.Discard(1)
			r.cell = append(r.cell, '"')
			continue
		}
		last, err := r.behindQuote(column)
		return string(r.cell), last, err
	}
}

// Between a closing quote and the cell's end stands at most white space.
func (r *csvReader) behindQuote(column int) (last bool, err error) {
	for {
		c, err := r.in.ReadByte()
		switch {
		case err == io.EOF:
			return true, nil
		case err != nil:
			return false, err
		case c == r.sep:
			return false, nil
		case c == '\n', c == '\r' && r.newline():
			return true, nil
		case !r.blank(c):
			return false, fmt.Errorf("row %d, column %d: text behind a closing quote", r.line, column)
		}
	}
}

// ---- writing -------------------------------------------------------------------

type csvWriter struct {
	out io.Writer
	sep byte
}

func needsQuotes(text string, sep byte) bool {
	if text == "" {
		return false
	}
	first, last := text[0], text[len(text)-1]
	return first == ' ' || first == '\t' || last == ' ' || last == '\t' ||
		strings.IndexByte(text, sep) >= 0 || strings.ContainsAny(text, "\"\r\n")
}

func (w *csvWriter) put(r row) error {
	var line []byte
	for i, text := range r {
		if i > 0 {
			line = append(line, w.sep)
		}
		if !needsQuotes(text, w.sep) {
			line = append(line, text...)
			continue
		}
		line = append(line, '"')
		line = append(line, strings.ReplaceAll(text, `"`, `""`)...)
		line = append(line, '"')
	}
	_, err := w.out.Write(append(line, '\n'))
	return err
}

// ---- files ---------------------------------------------------------------------

// Calls `each` for every row of the files, in order.
func eachRow(files []string, in io.Reader, sep byte, each func(file int, r row) error) error {
	for i, name := range files {
		if err := rowsOf(name, in, sep, func(r row) error { return each(i, r) }); err != nil {
			return err
		}
	}
	return nil
}

func rowsOf(name string, in io.Reader, sep byte, each func(r row) error) error {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	reader := newCSVReader(in, sep)
	for {
		r, err := reader.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := each(r); err != nil {
			return err
		}
	}
}
