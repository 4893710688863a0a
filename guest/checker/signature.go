package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/microsoft/typescript-go/internal/ast"
	"github.com/microsoft/typescript-go/internal/checker"
	"github.com/microsoft/typescript-go/internal/core"
	"github.com/microsoft/typescript-go/internal/parser"
	"github.com/microsoft/typescript-go/internal/scanner"
	"github.com/microsoft/typescript-go/internal/tspath"
)

// The checked text of a function: its code, into which go the types of parameters that say
// none, and behind it a variable of each type that the definition names, so that a name
// means there what it means in the code:
//
//	declare let __cloche_0: (string
//	);
//	const __cloche_default_0: (string
//	) = ("today");
func (c *check) function(h *host, file *ast.SourceFile) {
	if !c.readable() {
		return
	}
	name, fn := find(file, c.Function.Name)
	if name == nil {
		c.missing(file)
		return
	}
	c.text, c.moved = "", nil
	if fn != nil {
		c.annotate(fn)
	}
	c.text += c.Code[c.taken():]
	c.end = len(c.text)
	declared := c.define()
	c.load(h, true)
	for _, d := range c.all() {
		c.tell(d)
	}
	name, fn = find(c.file, c.Function.Name)
	types := c.types(declared)
	if name == nil || types == nil {
		return // what was put in made other code of it
	}
	c.compare(name, fn, types)
	if !c.spoilt() {
		c.answer.Shapes = c.shapesOf(types[:len(c.Function.Parameters)])
	}
}

// ---- the definition ------------------------------------------------------------

const (
	typeHead = "let a: ("
	typeTail = "\n);"
)

// Is every type of the definition one type, by itself?
func (c *check) readable() bool {
	for i := range c.Function.Parameters {
		p := &c.Function.Parameters[i]
		p.Name, p.rest = strings.CutPrefix(p.Name, "...")
		c.readType("parameters."+p.Name+".type", p.Type)
	}
	if c.Function.ReturnType != "" {
		c.readType("returnType", c.Function.ReturnType)
	}
	return len(c.answer.Diagnostics) == 0
}

func (c *check) readType(field, text string) {
	file := parser.ParseSourceFile(ast.SourceFileParseOptions{FileName: ownName, Path: tspath.Path(ownName)},
		"declare "+typeHead+text+typeTail, core.ScriptKindTS)
	bad := len(file.Diagnostics()) > 0 || len(file.Statements.Nodes) != 1 ||
		file.Statements.Nodes[0].End() != len(file.Text())
	if !bad {
		list := ast.FindAncestor(ast.GetNodeAtPosition(file, len("declare let "), false), ast.IsVariableDeclaration)
		bad = list == nil || list.Type() == nil || list.Type().Kind != ast.KindParenthesizedType
	}
	if bad {
		c.add(diagnostic{Field: field, Code: "TS1110", Severity: "error",
			Message: fmt.Sprintf("'%s' is not a TypeScript type.", cut(text, 200))})
	}
}

// Appends it, and tells how many statements that makes.
func (c *check) define() int {
	count := 0
	for i, p := range c.Function.Parameters {
		c.put(fmt.Sprintf("\n;declare let __cloche_%d: (%s\n);", i, p.Type), "parameters."+p.Name+".type")
		count++
	}
	if c.Function.ReturnType != "" {
		c.put(fmt.Sprintf("\n;declare let __cloche_returns: (%s\n);", c.Function.ReturnType), "returnType")
		count++
	}
	for i, p := range c.Function.Parameters {
		if p.Default != "" {
			c.put(fmt.Sprintf("\n;const __cloche_default_%d", i), "parameters."+p.Name+".default")
			c.put(fmt.Sprintf(": (%s\n) ", p.Type), "parameters."+p.Name+".type")
			c.put("= ("+p.Default+");", "parameters."+p.Name+".default")
			count++
		}
	}
	return count
}

// What the definition's types came to: of each parameter, and what it answers (nil: it does
// not say).
func (c *check) types(declared int) []*checker.Type {
	var row []*checker.Type
	for _, s := range c.file.Statements.Nodes {
		if s.Kind != ast.KindVariableStatement || s.Pos() < c.end {
			continue
		}
		d := s.AsVariableStatement().DeclarationList.AsVariableDeclarationList().Declarations.Nodes[0]
		row = append(row, c.checker.GetTypeFromTypeNode(d.Type()))
	}
	if len(row) != declared {
		return nil
	}
	n := len(c.Function.Parameters)
	if c.Function.ReturnType == "" {
		return append(row[:n:n], nil)
	}
	return row[:n+1]
}

// ---- the code's function ---------------------------------------------------------

// The name that the code binds, and the function, where it is written down as one.
func find(file *ast.SourceFile, wanted string) (name, fn *ast.Node) {
	for _, s := range file.Statements.Nodes {
		switch {
		case ast.IsFunctionDeclaration(s):
			if n := s.Name(); n != nil && n.Text() == wanted && s.Body() != nil {
				return n, s
			}
		case ast.IsVariableStatement(s):
			for _, d := range s.AsVariableStatement().DeclarationList.AsVariableDeclarationList().Declarations.Nodes {
				if n := d.Name(); ast.IsIdentifier(n) && n.Text() == wanted && d.Initializer() != nil {
					return n, functionOf(d.Initializer())
				}
			}
		}
	}
	return nil, nil
}

func functionOf(n *ast.Node) *ast.Node {
	n = ast.SkipParentheses(n)
	if ast.IsFunctionExpressionOrArrowFunction(n) {
		return n
	}
	return nil
}

func (c *check) missing(file *ast.SourceFile) {
	d := diagnostic{Field: "name", Code: "NAME", Severity: "error"}
	var others []string
	for _, s := range file.Statements.Nodes {
		if ast.IsFunctionDeclaration(s) && s.Name() != nil && s.Body() != nil {
			others = append(others, s.Name().Text())
		}
	}
	d.Message = fmt.Sprintf("The code binds no function '%s' at its top level", c.Function.Name)
	if len(others) == 1 {
		d.Suggestion = others[0]
		d.Message += fmt.Sprintf(", but '%s'", others[0])
	}
	d.Message += fmt.Sprintf(": write 'function %s(...) {...}' or 'const %s = (...) => ...'.",
		c.Function.Name, c.Function.Name)
	c.add(d)
}

// Puts a text into the code at this place.
func (c *check) insert(at int, text, field string) {
	c.text += c.Code[c.taken():at]
	c.moved = append(c.moved, move{at, len(text)})
	c.put(text, field)
}

// Appends a text of the definition's field.
func (c *check) put(text, field string) {
	from := len(c.text)
	c.text += text
	if field != "" {
		c.pieces = append(c.pieces, piece{from, len(c.text), field})
	}
}

// How much of the code is in the text already.
func (c *check) taken() int {
	if len(c.moved) == 0 {
		return 0
	}
	return c.moved[len(c.moved)-1].at
}

func isAsync(fn *ast.Node) bool {
	return ast.GetFunctionFlags(fn)&ast.FunctionFlagsAsync != 0
}

// Gives what says no type the one of the definition.
func (c *check) annotate(fn *ast.Node) {
	for i, p := range named(fn) {
		d := c.definitionOf(p, i)
		if d == nil || p.Type() != nil || (p.AsParameterDeclaration().DotDotDotToken != nil) != d.rest {
			continue
		}
		at, mark, or := p.Name().End(), "", ""
		if q := p.QuestionToken(); q != nil {
			at = q.End()
		} else if d.Optional && !d.rest && d.Default == "" && p.Initializer() == nil {
			if c.mayEndAt(fn, i) {
				mark = "?"
			} else {
				or = " | undefined"
			}
		}
		bare := strings.HasPrefix(strings.TrimSpace(c.Code[at:]), "=>")
		if bare {
			c.insert(scanner.SkipTrivia(c.Code, p.Pos()), "(", "")
		}
		c.insert(at, mark+": ("+d.Type+"\n)"+or, "parameters."+d.Name+".type")
		if bare {
			c.insert(at, ")", "")
		}
	}
	returns := strings.TrimSpace(c.Function.ReturnType)
	if fn.Type() != nil || returns == "" ||
		ast.GetFunctionFlags(fn)&ast.FunctionFlagsGenerator != 0 ||
		isAsync(fn) && !strings.HasPrefix(returns, "Promise<") {
		return
	}
	if ast.IsArrowFunction(fn) {
		// Not in parentheses: before `=>` they would begin the type of a function.
		c.insert(fn.AsArrowFunction().EqualsGreaterThanToken.Pos(), ": ["+returns+"\n][0]", "returnType")
	} else {
		c.insert(fn.Body().Pos(), ": ("+returns+"\n)", "returnType")
	}
}

// Can all parameters from this one on be left out?
func (c *check) mayEndAt(fn *ast.Node, i int) bool {
	for j, p := range named(fn)[i:] {
		d := c.definitionOf(p, i+j)
		if p.QuestionToken() == nil && p.Initializer() == nil && (p.Type() != nil || d == nil || !d.Optional || d.Default != "") {
			return false
		}
	}
	return true
}

// Its parameters, without a `this` that is only there for the checker.
func named(fn *ast.Node) []*ast.Node {
	all := fn.Parameters()
	if len(all) > 0 && ast.IsIdentifier(all[0].Name()) && all[0].Name().Text() == "this" {
		return all[1:]
	}
	return all
}

// What the definition says of the code's i-th parameter: by its name, or, where that is a
// pattern, by its place.
func (c *check) definitionOf(p *ast.Node, i int) *parameter {
	for j := range c.Function.Parameters {
		d := &c.Function.Parameters[j]
		if ast.IsIdentifier(p.Name()) && p.Name().Text() == d.Name || !ast.IsIdentifier(p.Name()) && i == j {
			return d
		}
	}
	return nil
}

// ---- one against the other ---------------------------------------------------------

func (c *check) wrong(field, severity, message, suggestion string, at *ast.Node) {
	d := diagnostic{Field: field, Code: "SIGNATURE", Severity: severity, Message: message, Suggestion: suggestion}
	if at != nil {
		c.place(&d, scanner.GetTokenPosOfNode(at, c.file, false), at.End())
	}
	c.add(d)
}

func (c *check) compare(name, fn *ast.Node, types []*checker.Type) {
	n := len(c.Function.Parameters)
	var s *checker.Signature
	if fn != nil {
		s = c.checker.GetSignatureFromDeclaration(fn)
		c.compareNames(fn, name)
		for i, p := range named(fn) {
			for j := range c.Function.Parameters {
				if d := &c.Function.Parameters[j]; d == c.definitionOf(p, i) {
					c.compareParameter(d, p, types[j])
				}
			}
		}
	} else if all := c.checker.GetSignaturesOfType(c.checker.GetTypeAtLocation(name), checker.SignatureKindCall); len(all) > 0 {
		s = all[0]
		c.compareCount(name, s)
	}
	if s == nil {
		c.wrong("name", "error", fmt.Sprintf("'%s' is not a function.", c.Function.Name), "", name)
		return
	}
	returns := c.checker.GetReturnTypeOfSignature(s)
	c.answer.Returns = cut(c.checker.TypeToString(returns), messageMax)
	if types[n] != nil {
		c.compareReturn(name, fn, returns, types[n])
	}
}

// A value that only turns out to be a function: its parameters have no names here.
func (c *check) compareCount(name *ast.Node, s *checker.Signature) {
	if want := len(c.Function.Parameters); len(s.Parameters()) != want && !s.HasRestParameter() {
		c.wrong("parameters", "error", fmt.Sprintf("The definition has %d parameters, '%s' takes %d.",
			want, c.Function.Name, len(s.Parameters())), "", name)
	}
}

func nameOf(p *ast.Node) string {
	if ast.IsIdentifier(p.Name()) {
		return p.Name().Text()
	}
	return ""
}

// Are the code's parameters those of the definition, in their order?
func (c *check) compareNames(fn, name *ast.Node) {
	var inCode, defined []string
	for _, p := range named(fn) {
		inCode = append(inCode, nameOf(p))
	}
	for _, p := range c.Function.Parameters {
		defined = append(defined, p.Name)
	}
	same := len(inCode) == len(defined)
	for i := 0; same && i < len(inCode); i++ {
		same = inCode[i] == "" || inCode[i] == defined[i]
	}
	if same {
		return
	}
	given := "(" + strings.Join(inCode, ", ") + ")"
	complete := true
	for i, d := range defined {
		if slices.Contains(inCode, d) || i < len(inCode) && inCode[i] == "" {
			continue
		}
		meant := ""
		if i < len(inCode) && !slices.Contains(defined, inCode[i]) {
			meant = inCode[i]
		}
		complete = false
		c.wrong("parameters."+d, "error", fmt.Sprintf(
			"The definition has a parameter '%s', which the code's function %s does not take.", d, given), meant, name)
	}
	for i, p := range named(fn) {
		if inCode[i] == "" && i < len(defined) || slices.Contains(defined, inCode[i]) {
			continue
		}
		complete = false
		c.wrong("code", "error", fmt.Sprintf(
			"The code's function takes a parameter '%s', which the definition (%s) does not have.",
			inCode[i], strings.Join(defined, ", ")), "", p)
	}
	if complete {
		c.wrong("parameters", "error", fmt.Sprintf(
			"The definition has the parameters (%s), the code takes them as %s: the order must be the same.",
			strings.Join(defined, ", "), given), "", name)
	}
}

func (c *check) compareParameter(d *parameter, p *ast.Node, declared *checker.Type) {
	field := "parameters." + d.Name
	node := p.AsParameterDeclaration()
	own := c.checker.GetTypeOfSymbol(p.Symbol())
	rest := node.DotDotDotToken != nil
	omitted := node.QuestionToken != nil || node.Initializer != nil || rest
	if d.rest && !rest {
		c.wrong(field, "error", fmt.Sprintf(
			"The definition says that '%s' takes all further arguments, but the code's parameter is not '...%s'.",
			d.Name, d.Name), "..."+d.Name, p)
		return
	}
	if rest && !d.rest && c.checker.IsArrayType(own) {
		own = c.checker.GetTypeArguments(own)[0]
	}
	accepts := c.checker.IsTypeAssignableTo(c.checker.GetUndefinedType(), own)
	if d.Optional && d.Default == "" && !omitted && !accepts {
		c.wrong(field, "error", fmt.Sprintf(
			"The definition says that '%s' may be left out, but the code needs it.", d.Name),
			fmt.Sprintf("%s?: %s", d.Name, d.Type), p)
	}
	if !d.Optional && !d.rest && d.Default == "" && omitted {
		c.wrong(field, "warning", fmt.Sprintf(
			"The code lets '%s' be left out, but the definition wants it from every caller: say optional: true.",
			d.Name), "", p)
	}
	if !c.checker.IsTypeAssignableTo(declared, own) {
		c.wrong(field, "error", fmt.Sprintf(
			"The definition says that '%s' is of type '%s', the code takes '%s'.", d.Name,
			c.checker.TypeToString(declared), c.checker.TypeToString(own)), "", p)
	}
}

func (c *check) compareReturn(name, fn *ast.Node, returns, declared *checker.Type) {
	if c.checker.IsTypeAssignableTo(returns, declared) {
		return
	}
	at := name
	if fn != nil && fn.Type() != nil && c.pieceAt(fn.Type().End()-1) == nil {
		at = fn.Type()
	}
	is, says := c.checker.TypeToString(returns), c.checker.TypeToString(declared)
	promised := c.checker.GetPromisedTypeOfPromise(returns)
	void := declared.Flags()&checker.TypeFlagsVoid != 0
	switch {
	case promised == nil && void:
	case promised != nil && (void || c.checker.IsTypeAssignableTo(promised, declared)):
		c.wrong("returnType", "warning", fmt.Sprintf(
			"The definition says that it returns '%s', but the code answers a promise of it, '%s'.", says, is),
			"Promise<"+c.Function.ReturnType+">", at)
	default:
		c.wrong("returnType", "error", fmt.Sprintf(
			"The definition says that it returns '%s', the code's function returns '%s'.", says, is), is, at)
	}
}

// Is something of the definition itself wrong?
func (c *check) spoilt() bool {
	return slices.ContainsFunc(c.answer.Diagnostics, func(d diagnostic) bool {
		return d.Severity == "error" && strings.HasPrefix(d.Field, "parameters")
	})
}
