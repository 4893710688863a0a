package main

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/microsoft/typescript-go/internal/ast"
	"github.com/microsoft/typescript-go/internal/diagnostics"
	"github.com/microsoft/typescript-go/internal/diagnosticwriter"
	"github.com/microsoft/typescript-go/internal/locale"
)

const (
	tellMax    = 100
	messageMax = 2000 // bytes
)

type diagnostic struct {
	Field      string `json:"field"`
	Code       string `json:"code"`
	Severity   string `json:"severity"`
	Message    string `json:"message"`
	Line       int    `json:"line,omitzero"` // from 1, as the column, which counts characters
	Column     int    `json:"column,omitzero"`
	EndLine    int    `json:"endLine,omitzero"`
	EndColumn  int    `json:"endColumn,omitzero"`
	Suggestion string `json:"suggestion,omitzero"`
}

func (c *check) add(d diagnostic) {
	if slices.Contains(c.answer.Diagnostics, d) {
		return
	}
	if len(c.answer.Diagnostics) == tellMax {
		c.answer.Dropped++
		return
	}
	d.Message = cut(d.Message, messageMax)
	c.answer.Diagnostics = append(c.answer.Diagnostics, d)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " ..."
}

// One of the checker's own.
func (c *check) tell(d *ast.Diagnostic) {
	out := diagnostic{Field: "code", Code: "TS" + strconv.Itoa(int(d.Code())), Severity: "error"}
	if d.Category() != diagnostics.CategoryError {
		out.Severity = "warning"
	}
	out.Message = diagnosticwriter.FlattenDiagnosticMessage(diagnosticwriter.WrapASTDiagnostic(d), "\n", locale.Default)
	out.Suggestion = suggestion(d)
	if isImport(d) {
		out.Message = "There are no modules here: what code may call is global (notes, tools, utils ...). " + out.Message
	}
	if p := c.pieceAt(d.Pos()); p != nil {
		out.Field = p.field
		c.add(out)
		return
	}
	if d.File() != nil && d.File().FileName() == c.name {
		c.place(&out, d.Pos(), d.End())
	}
	c.add(out)
}

func isImport(d *ast.Diagnostic) bool {
	return d.Code() == 2307 || d.Code() == 2591 &&
		ast.FindAncestor(ast.GetNodeAtPosition(d.File(), d.Pos(), false), ast.IsImportDeclaration) != nil
}

func (c *check) pieceAt(pos int) *piece {
	for i := range c.pieces {
		if p := &c.pieces[i]; pos >= p.from && pos < p.to {
			return p
		}
	}
	return nil
}

// Of what is meant by a name that is not there.
func suggestion(d *ast.Diagnostic) string {
	message := d.Localize(locale.Default)
	_, rest, found := strings.Cut(message, "Did you mean")
	if !found {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "'")
	name, _, _ := strings.Cut(rest, "'")
	return name
}

// From and to in the checked text, told in the code's own lines.
func (c *check) place(d *diagnostic, from, to int) {
	d.Line, d.Column = where(c.Code, c.moved.back(from))
	d.EndLine, d.EndColumn = where(c.Code, c.moved.back(to))
}

func where(text string, pos int) (line, column int) {
	pos = min(pos, len(text))
	before := text[:pos]
	line = 1 + strings.Count(before, "\n")
	return line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}
