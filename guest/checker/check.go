package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/microsoft/typescript-go/internal/ast"
	"github.com/microsoft/typescript-go/internal/checker"
	"github.com/microsoft/typescript-go/internal/compiler"
	"github.com/microsoft/typescript-go/internal/tspath"
)

const (
	ownName    = "/own.d.ts"
	codeName   = "/code.ts"
	scriptName = "/code.js"
)

type parameter struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Optional bool   `json:"optional"`
	Default  string `json:"default"` // JSON; empty: there is none
	rest     bool   // it takes all further arguments: the name began with "..."
}

type signature struct {
	Name       string      `json:"name"`
	Parameters []parameter `json:"parameters"`
	ReturnType string      `json:"returnType"`
}

type question struct {
	Known      []string   `json:"known"` // declarations, told once, for all questions to come
	Code       string     `json:"code"`
	JavaScript bool       `json:"javascript"`
	Remembers  bool       `json:"remembers"`
	Declared   []int      `json:"declared"` // which of the known ones there are
	Own        string     `json:"own"`      // and what else
	Function   *signature `json:"function"`
}

type answer struct {
	Diagnostics []diagnostic `json:"diagnostics"`
	Dropped     int          `json:"dropped,omitzero"`
	Shapes      *shapes      `json:"shapes,omitzero"`
	Returns     string       `json:"returns,omitzero"` // the type that the code's function answers
}

// One question under way: the code as it was given, what was made of it for the checker,
// and how places lead back.
type check struct {
	*question
	name    string
	text    string
	moved   moves
	pieces  []piece // what the definition put into the text
	end     int     // of the code in the text
	program *compiler.Program
	file    *ast.SourceFile
	checker *checker.Checker
	answer  answer
}

// Text that the definition brought, and what of the definition it is.
type piece struct {
	from, to int
	field    string
}

func (h *host) answerTo(q *question) answer {
	c := &check{question: q, name: codeName, text: q.Code}
	c.answer.Diagnostics = []diagnostic{}
	if q.Known != nil {
		h.known = q.Known
		for i := range q.Known {
			c.Declared = append(c.Declared, i)
		}
	}
	if q.JavaScript {
		c.name = scriptName
	}
	file := parse(ast.SourceFileParseOptions{FileName: c.name, Path: tspath.Path(c.name),
		ExternalModuleIndicatorOptions: ast.ExternalModuleIndicatorOptions{Force: true}}, q.Code)
	if c.refuse(file) {
		return c.answer
	}
	if q.Function != nil {
		c.function(h, file)
	} else {
		c.evaluation(h, file)
	}
	return c.answer
}

// Code that cannot be read is told as such, and nothing more.
func (c *check) refuse(file *ast.SourceFile) bool {
	c.file = file
	for _, d := range file.Diagnostics() {
		c.tell(d)
	}
	for _, d := range file.JSDiagnostics() {
		c.tell(d)
	}
	return len(c.answer.Diagnostics) > 0
}

func (c *check) load(h *host, strict bool) {
	files := map[string]string{c.name: c.text, ownName: c.Own}
	names := make([]string, 0, len(c.Declared)+2)
	for _, i := range c.Declared {
		name := "/declared" + strconv.Itoa(i) + ".d.ts"
		files[name] = h.known[i]
		names = append(names, name)
	}
	c.program = h.program(files, append(names, ownName, c.name), strict)
	c.file = c.program.GetSourceFile(c.name)
	c.checker, _ = c.program.GetTypeCheckerForFile(context.Background(), c.file)
}

func (c *check) all() []*ast.Diagnostic {
	return c.program.GetSemanticDiagnostics(context.Background(), c.file)
}

// ---- an evaluation -----------------------------------------------------------

const wrapper = "async function evaluation() {"

func (c *check) evaluation(h *host, file *ast.SourceFile) {
	returns := false
	for _, s := range file.Statements.Nodes {
		returns = returns || hasReturn(s)
	}
	if returns {
		c.text = wrapper + c.Code + "\n}"
		c.moved = moves{{0, len(wrapper)}}
	}
	c.load(h, false)
	for _, d := range c.all() {
		if !forgiven(d, returns) && !(c.Remembers && isUnknownName(d)) {
			c.tell(d)
		}
	}
}

// Does it return to what called the code?
func hasReturn(n *ast.Node) bool {
	if n.Kind == ast.KindReturnStatement {
		return true
	}
	if ast.IsFunctionLikeOrClassStaticBlockDeclaration(n) || ast.IsClassLike(n) {
		return false
	}
	return n.ForEachChild(hasReturn)
}

// What is no mistake in an evaluation: types that nobody wrote down, and, where the code
// stands in a function of ours, what may only stand at the top.
func forgiven(d *ast.Diagnostic, inside bool) bool {
	code := d.Code()
	switch {
	case code >= 7005 && code <= 7057, code == 2683:
		return true
	case code == 2307, code == 2591: // the types of a module that is not there are any
		return isTypeImport(d)
	case inside && (code == 1184 || code == 1235):
		return strings.HasPrefix(d.File().Text()[d.Pos():], "export") || code == 1235
	}
	return false
}

// Is a name meant that earlier code may have left?
func isUnknownName(d *ast.Diagnostic) bool {
	switch d.Code() {
	case 2304, 2552, 2503, 2663, 18004:
		return true
	}
	return false
}

func isTypeImport(d *ast.Diagnostic) bool {
	n := ast.GetNodeAtPosition(d.File(), d.Pos(), false)
	n = ast.FindAncestor(n, ast.IsImportDeclaration)
	return n != nil && n.AsImportDeclaration().ImportClause != nil &&
		n.AsImportDeclaration().ImportClause.IsTypeOnly()
}

// ---- places ------------------------------------------------------------------

// A text that was put into the code: where, and how many bytes of it.
type move struct{ at, size int }
type moves []move // in order

// From a place of the checked text to the one in the code.
func (m moves) back(pos int) int {
	shift := 0
	for _, e := range m {
		if pos < e.at+shift {
			break
		}
		if pos < e.at+shift+e.size {
			return e.at
		}
		shift += e.size
	}
	return pos - shift
}
