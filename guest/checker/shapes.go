package main

import (
	"strings"

	"github.com/microsoft/typescript-go/internal/ast"
	"github.com/microsoft/typescript-go/internal/checker"
	"github.com/microsoft/typescript-go/internal/jsnum"
)

// What fits a type while code runs, for the guest that runs it: a shape is a word, or an
// object, in which numbers are places in `types`. What cannot be told from a value is
// "any", and so is what comes when there are enough of them.
type shapes struct {
	Types      []any    `json:"types"`
	Parameters []int    `json:"parameters"`
	Texts      []string `json:"texts"`
	checker    *checker.Checker
	code       string
	known      map[*checker.Type]int
}

const (
	shapesMax = 256
	textMax   = 200 // bytes
)

func (c *check) shapesOf(types []*checker.Type) *shapes {
	s := &shapes{Types: []any{}, Parameters: []int{}, Texts: []string{},
		checker: c.checker, code: c.name, known: map[*checker.Type]int{}}
	for _, t := range types {
		s.Parameters = append(s.Parameters, s.of(t))
	}
	return s
}

func (s *shapes) of(t *checker.Type) int {
	if i, ok := s.known[t]; ok {
		return i
	}
	if len(s.Types) == shapesMax-1 {
		s.Types = append(s.Types, "any")
		s.Texts = append(s.Texts, "any")
	}
	if len(s.Types) >= shapesMax {
		return shapesMax - 1
	}
	i := len(s.Types)
	s.known[t] = i // before its parts: they may lead back to it
	s.Types = append(s.Types, "any")
	s.Texts = append(s.Texts, cut(s.checker.TypeToString(t), textMax))
	shape := s.shape(t)
	s.Types[i] = shape
	return i
}

func (s *shapes) all(types []*checker.Type) []int {
	row := make([]int, 0, len(types))
	for _, t := range types {
		row = append(row, s.of(t))
	}
	return row
}

func (s *shapes) shape(t *checker.Type) any {
	f := t.Flags()
	switch {
	case f&(checker.TypeFlagsStringLiteral|checker.TypeFlagsNumberLiteral|checker.TypeFlagsBooleanLiteral) != 0 && f&checker.TypeFlagsUnion == 0:
		return literal(t)
	case f&(checker.TypeFlagsStringLike) != 0:
		return "string"
	case f&checker.TypeFlagsBoolean != 0:
		return "boolean"
	case f&checker.TypeFlagsUnion != 0:
		return s.union(t)
	case f&checker.TypeFlagsNumberLike != 0:
		return "number"
	case f&checker.TypeFlagsBigIntLike != 0:
		return "bigint"
	case f&checker.TypeFlagsESSymbolLike != 0:
		return "symbol"
	case f&checker.TypeFlagsNull != 0:
		return "null"
	case f&checker.TypeFlagsVoidLike != 0:
		return "undefined"
	case f&checker.TypeFlagsNever != 0:
		return "never"
	case f&checker.TypeFlagsNonPrimitive != 0:
		return "object"
	case f&checker.TypeFlagsIntersection != 0:
		return s.intersection(t)
	case f&checker.TypeFlagsInstantiable != 0:
		if base := s.checker.GetBaseConstraintOfType(t); base != nil && base != t && base.Flags()&checker.TypeFlagsInstantiable == 0 {
			return s.shape(base)
		}
	case f&checker.TypeFlagsObject != 0:
		return s.object(t)
	}
	return "any"
}

func literal(t *checker.Type) any {
	switch v := t.AsLiteralType().Value().(type) {
	case string:
		return map[string]any{"is": v}
	case bool:
		return map[string]any{"is": v}
	case jsnum.Number:
		if !v.IsNaN() && !v.IsInf() {
			return map[string]any{"is": float64(v)}
		}
		return "number"
	}
	return "any"
}

func (s *shapes) union(t *checker.Type) any {
	var row []*checker.Type
	booleans := 0
	for _, m := range t.Types() {
		if m.Flags()&checker.TypeFlagsBooleanLiteral != 0 {
			booleans++
			continue
		}
		row = append(row, m)
	}
	if booleans == 2 {
		row = append(row, s.checker.GetBooleanType())
	} else if booleans == 1 {
		for _, m := range t.Types() {
			if m.Flags()&checker.TypeFlagsBooleanLiteral != 0 {
				row = append(row, m)
			}
		}
	}
	return map[string]any{"or": s.all(row)}
}

// A primitive that is marked with members, which no value has, is the primitive.
func (s *shapes) intersection(t *checker.Type) any {
	for _, m := range t.Types() {
		if m.Flags()&checker.TypeFlagsPrimitive != 0 {
			return s.shape(m)
		}
	}
	return map[string]any{"and": s.all(t.Types())}
}

// ---- objects ---------------------------------------------------------------------

var aliases = map[string]string{"ReadonlyMap": "Map", "ReadonlySet": "Set"}

// Classes of the language whose values can be told.
var classes = strings.Fields("Date RegExp Map Set WeakMap WeakSet Promise Error ArrayBuffer DataView " +
	"Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array " +
	"Float32Array Float64Array BigInt64Array BigUint64Array")

func (s *shapes) object(t *checker.Type) any {
	c := s.checker
	if t.IsTupleType() {
		return s.tuple(t)
	}
	if c.IsArrayType(t) {
		return map[string]any{"array": s.of(c.GetTypeArguments(t)[0])}
	}
	if len(c.GetSignaturesOfType(t, checker.SignatureKindCall)) > 0 ||
		len(c.GetSignaturesOfType(t, checker.SignatureKindConstruct)) > 0 {
		return "function"
	}
	if symbol := t.Symbol(); symbol != nil && s.foreign(symbol) {
		return s.library(symbol, t)
	}
	return s.fields(t)
}

// Was it declared by the libraries?
func (s *shapes) foreign(symbol *ast.Symbol) bool {
	for _, d := range symbol.Declarations {
		f := ast.GetSourceFileOfNode(d)
		if f != nil && strings.HasPrefix(f.FileName(), "bundled:") {
			return d.Kind == ast.KindInterfaceDeclaration || d.Kind == ast.KindClassDeclaration
		}
	}
	return false
}

func (s *shapes) library(symbol *ast.Symbol, t *checker.Type) any {
	name := symbol.Name
	if as, ok := aliases[name]; ok {
		name = as
	}
	if name == "Function" || name == "CallableFunction" || name == "NewableFunction" {
		return "function"
	}
	for _, known := range classes {
		if name == known {
			return map[string]any{"class": name}
		}
	}
	return "any"
}

func (s *shapes) tuple(t *checker.Type) any {
	target, types := t.TargetTupleType(), s.checker.GetTypeArguments(t)
	var fixed []*checker.Type
	optional, rest := 0, -1
	for i, flags := range target.ElementFlags() {
		switch {
		case i >= len(types):
		case flags&checker.ElementFlagsVariable != 0 && i == len(types)-1 && flags&checker.ElementFlagsRest != 0:
			rest = s.of(types[i])
		case flags&checker.ElementFlagsVariable != 0:
			return "any" // a rest in the middle, or of a type that is not known
		default:
			if flags&checker.ElementFlagsOptional != 0 {
				optional++
			}
			fixed = append(fixed, types[i])
		}
	}
	out := map[string]any{"tuple": s.all(fixed)}
	if optional > 0 {
		out["optional"] = optional
	}
	if rest >= 0 {
		out["rest"] = rest
	}
	return out
}

func (s *shapes) fields(t *checker.Type) any {
	c := s.checker
	if class := classOf(t); class != "" {
		return map[string]any{"class": class}
	}
	fields, optional := map[string]int{}, []string{}
	for _, p := range c.GetPropertiesOfType(t) {
		if strings.HasPrefix(p.Name, ast.InternalSymbolNamePrefix) || strings.HasPrefix(p.Name, "#") {
			continue
		}
		of := c.GetTypeOfSymbol(p)
		if p.Flags&ast.SymbolFlagsOptional != 0 {
			optional = append(optional, p.Name)
			of = c.RemoveMissingOrUndefinedType(of)
		}
		fields[p.Name] = s.of(of)
	}
	infos := c.GetIndexInfosOfType(t)
	if len(fields) == 0 && len(infos) == 0 {
		return "any" // as everything but null and undefined fits {}
	}
	out := map[string]any{"fields": fields}
	if len(optional) > 0 {
		out["optional"] = optional
	}
	for _, info := range infos {
		out["others"] = s.of(info.ValueType())
	}
	if len(optional) == len(fields) {
		return out
	}
	return s.orPrimitive(t, out)
}

// A class of the world around the code, such as URL: its values are told by that.
func classOf(t *checker.Type) string {
	symbol := t.Symbol()
	if symbol == nil || symbol.Flags&ast.SymbolFlagsClass == 0 || len(symbol.Declarations) == 0 {
		return ""
	}
	if f := ast.GetSourceFileOfNode(symbol.Declarations[0]); f != nil && f.IsDeclarationFile {
		return symbol.Name
	}
	return ""
}

// A string has a length, and so fits {length: number}.
func (s *shapes) orPrimitive(t *checker.Type, shape map[string]any) any {
	var row []*checker.Type
	for _, p := range []*checker.Type{s.checker.GetStringType(), s.checker.GetNumberType(), s.checker.GetBooleanType()} {
		if s.checker.IsTypeAssignableTo(p, t) {
			row = append(row, p)
		}
	}
	if len(row) == 0 || len(s.Types) >= shapesMax-1 {
		return shape
	}
	s.Types = append(s.Types, shape)
	s.Texts = append(s.Texts, "object")
	i := len(s.Types) - 1
	return map[string]any{"or": append([]int{i}, s.all(row)...)}
}
