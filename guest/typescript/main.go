// The guest that turns TypeScript into JavaScript: esbuild's transform, and nothing
// else of it, behind the exports that abi/abi.h describes. Built for WASI and baked:
// `bake` runs once, when it is built, so that every world begins with a Go runtime
// that has started and an esbuild that has warmed up.
package main

import (
	"encoding/binary"
	"runtime"
	"runtime/debug"
	"unsafe"

	"github.com/evanw/esbuild/pkg/api"
)

// What a world keeps for the host, which knows only addresses.
var (
	source []byte
	answer [7]uint32
	kept   [3][]byte
)

var options = api.TransformOptions{
	Loader:         api.LoaderTS,
	Sourcefile:     "code.ts",
	Sourcemap:      api.SourceMapExternal,
	SourcesContent: api.SourcesContentExclude,
	Charset:        api.CharsetUTF8,
	LegalComments:  api.LegalCommentsNone,
	Target:         api.ESNext,
	// What QuickJS does not know is written in words that it knows.
	Supported: map[string]bool{"decorators": false, "using": false, "import-attributes": false},
	// A class field is defined, not assigned, as in JavaScript.
	TsconfigRaw: `{"compilerOptions": {"useDefineForClassFields": true}}`,
}

func address(b []byte) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

// One struct typescript_message and its text for each.
func messages(all []api.Message) (out []byte) {
	for _, m := range all {
		var line, column, length uint32
		if m.Location != nil {
			line = uint32(m.Location.Line)
			column = uint32(m.Location.Column)
			length = uint32(m.Location.Length)
		}
		for _, v := range [4]uint32{line, column, length, uint32(len(m.Text))} {
			out = binary.LittleEndian.AppendUint32(out, v)
		}
		out = append(out, m.Text...)
		for len(out)%8 != 0 {
			out = append(out, 0)
		}
	}
	return out
}

//go:wasmexport input
func input(n uint32) uint32 {
	source = make([]byte, n+1)[:n]
	return address(source)
}

//go:wasmexport transform
func transform() uint32 {
	r := api.Transform(unsafe.String(unsafe.SliceData(source), len(source)), options)
	kept = [3][]byte{r.Code, r.Map, messages(r.Errors)}
	answer[0] = uint32(len(r.Errors))
	for i, b := range kept {
		answer[1+2*i] = address(b)
		answer[2+2*i] = uint32(len(b))
	}
	return uint32(uintptr(unsafe.Pointer(&answer)))
}

// Each feature once, so that what esbuild makes when it is first needed is there.
const sample = `
import type { Note } from 'notes';
enum Kind { A = 1, B = 'b' }
namespace Space { export const x: number = 1 }
abstract class Base<T extends object> { constructor(protected readonly at: T, public n?: number) {} }
function mark(value: unknown, context: { name: string | symbol }) { return value as any }
class Marked extends Base<Note> { @mark accessor x = 1; #y = 2; static { this.name } }
async function main(...all: readonly string[]): Promise<Record<string, Kind>> {
  using one = { [Symbol.dispose]() {} };
  const { a, ...rest } = await notes.get(all[0]!) satisfies object ?? { a: /é+/u };
  for await (const n of rest) console.log(` + "`${n as string} ${1n ** 2n}`" + `);
  return { [Kind.A]: <Kind>Kind.B };
}
await main('x'); type U = keyof typeof Space; declare const w: unique symbol;
`

// Holds some 24 KB of stack, until it is let go.
func deep(frames int, here, letGo chan struct{}) byte {
	var frame [1024]byte
	frame[frames] = 1
	if frames > 0 {
		return deep(frames-1, here, letGo) + frame[frames]
	}
	here <- struct{}{}
	<-letGo
	return frame[0]
}

// Goroutines begin with the stack that those had, on average, which the last collection
// found (GODEBUG adaptivestackstart). Those of esbuild would grow theirs three times each.
func collectWithStacks() {
	const count = 32
	here, letGo := make(chan struct{}), make(chan struct{})
	for i := 0; i < count; i++ {
		go deep(20, here, letGo)
	}
	for i := 0; i < count; i++ {
		<-here
	}
	runtime.GC()
	close(letGo)
	for runtime.NumGoroutine() > 1 {
		runtime.Gosched()
	}
}

func warm() {
	source = []byte(sample)
	transform()
	source = []byte("const = 1")
	transform()
}

//go:wasmexport bake
func bake() {
	debug.SetGCPercent(300)
	for i := 0; i < 3; i++ {
		warm()
	}
	source, kept, answer = nil, [3][]byte{}, [7]uint32{}
	runtime.GC()
	collectWithStacks()
	// A collection takes the free places from the allocator: once more, so that worlds have
	// them at hand.
	warm()
	source, kept, answer = nil, [3][]byte{}, [7]uint32{}
}

func main() {}
