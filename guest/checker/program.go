package main

import (
	"io/fs"
	"regexp"
	"time"

	"github.com/microsoft/typescript-go/internal/ast"
	"github.com/microsoft/typescript-go/internal/bundled"
	"github.com/microsoft/typescript-go/internal/compiler"
	"github.com/microsoft/typescript-go/internal/core"
	"github.com/microsoft/typescript-go/internal/diagnostics"
	"github.com/microsoft/typescript-go/internal/parser"
	"github.com/microsoft/typescript-go/internal/tsoptions"
	"github.com/microsoft/typescript-go/internal/tspath"
	"github.com/microsoft/typescript-go/internal/vfs"
)

// What the JavaScript guest knows of the language: ES2025, and these of what comes next.
var libraries = []string{
	"lib.es2025.d.ts", "lib.esnext.array.d.ts", "lib.esnext.collection.d.ts",
	"lib.esnext.disposable.d.ts", "lib.esnext.error.d.ts", "lib.esnext.typedarrays.d.ts",
	"lib.decorators.d.ts",
}

// What these libraries declare and the guest has not: Intl has no such constructors.
var notThere = regexp.MustCompile(`(?ms)^    (const|var) (DisplayNames|DurationFormat): \{$.*?^    \};?$`)

// How code is checked. An evaluation is what an agent writes once, in haste: what a catch
// clause binds is any there.
func options(strict bool) *core.CompilerOptions {
	o := &core.CompilerOptions{
		Target:           core.ScriptTargetESNext,
		Module:           core.ModuleKindESNext,
		ModuleResolution: core.ModuleResolutionKindBundler,
		ModuleDetection:  core.ModuleDetectionKindForce,
		Lib:              libraries,
		Types:            []string{},
		Strict:           core.TSTrue,
		AllowJs:          core.TSTrue,
		CheckJs:          core.TSTrue,
		NoEmit:           core.TSTrue,
		SkipLibCheck:     core.TSTrue,
	}
	if !strict {
		o.UseUnknownInCatchVariables = core.TSFalse
	}
	return o
}

// A program's files: the libraries and declarations, read once, and those of one question.
// It is the whole file system that the checker finds.
type host struct {
	libs  vfs.FS
	known []string                   // texts of declarations
	kept  map[string]*ast.SourceFile // libraries, by their names
	texts map[string]*ast.SourceFile // declarations, by their text
	now   map[string]string          // this question's files, by name
}

func newHost() *host {
	h := &host{kept: map[string]*ast.SourceFile{}, texts: map[string]*ast.SourceFile{}}
	h.libs = bundled.WrapFS(nothing{})
	return h
}

func (h *host) FS() vfs.FS                               { return h.libs }
func (h *host) DefaultLibraryPath() string               { return bundled.LibPath() }
func (h *host) GetCurrentDirectory() string              { return "/" }
func (h *host) Trace(msg *diagnostics.Message, a ...any) {}
func (h *host) GetResolvedProjectReference(string, tspath.Path) *tsoptions.ParsedCommandLine {
	return nil
}

// No code brings other files in: neither libraries nor paths are followed.
func parse(o ast.SourceFileParseOptions, text string) *ast.SourceFile {
	f := parser.ParseSourceFile(o, text, core.GetScriptKindFromFileName(o.FileName))
	f.LibReferenceDirectives, f.ReferencedFiles, f.TypeReferenceDirectives = nil, nil, nil
	return f
}

func (h *host) GetSourceFile(o ast.SourceFileParseOptions) *ast.SourceFile {
	if text, ok := h.now[o.FileName]; ok {
		key := o.FileName + "\n" + text
		if f := h.texts[key]; f != nil {
			return f
		}
		f := parse(o, text)
		if f.IsDeclarationFile && o.FileName != ownName {
			h.texts[key] = f
		}
		return f
	}
	if f := h.kept[o.FileName]; f != nil {
		return f
	}
	text, ok := h.libs.ReadFile(o.FileName)
	if !ok {
		return nil
	}
	f := parser.ParseSourceFile(o, notThere.ReplaceAllString(text, ""), core.ScriptKindTS)
	h.kept[o.FileName] = f
	return f
}

func (h *host) program(files map[string]string, names []string, strict bool) *compiler.Program {
	h.now = files
	return compiler.NewProgram(compiler.ProgramOptions{
		Host:           h,
		SingleThreaded: core.TSTrue,
		Config: tsoptions.NewParsedCommandLine(options(strict), names,
			tspath.ComparePathsOptions{UseCaseSensitiveFileNames: true, CurrentDirectory: "/"}),
	})
}

// A file system without a file.
type nothing struct{}

func (nothing) UseCaseSensitiveFileNames() bool             { return true }
func (nothing) FileExists(string) bool                      { return false }
func (nothing) ReadFile(string) (string, bool)              { return "", false }
func (nothing) WriteFile(string, string) error              { return fs.ErrPermission }
func (nothing) AppendFile(string, string) error             { return fs.ErrPermission }
func (nothing) Remove(string) error                         { return fs.ErrPermission }
func (nothing) Chtimes(string, time.Time, time.Time) error  { return fs.ErrPermission }
func (nothing) DirectoryExists(string) bool                 { return false }
func (nothing) GetAccessibleEntries(string) (e vfs.Entries) { return e }
func (nothing) Stat(string) vfs.FileInfo                    { return nil }
func (nothing) WalkDir(string, vfs.WalkDirFunc) error       { return nil }
func (nothing) Realpath(path string) string                 { return path }
