// The guest that checks types: TypeScript's own checker, behind the exports that
// abi/abi.h describes. It is compiled as a part of the checker's module, whose packages
// nobody else may import: the build lays these files over it. Baked: every world begins with
// the libraries read and a checker that has warmed up.
package main

import (
	"runtime"
	"runtime/debug"
	"unsafe"

	"github.com/go-json-experiment/json"
)

// What a world keeps for the host, which knows only addresses.
var (
	asked []byte
	told  [2]uint32
	kept  []byte
	files *host
)

func address(b []byte) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

//go:wasmexport input
func input(n uint32) uint32 {
	asked = make([]byte, n+1)[:n]
	return address(asked)
}

// Runs it on a stack of its own. What the host calls stands on the first goroutine's, which
// must be where it was when the guest was baked, or no world could begin with the memory
// that another one left: the host can copy that, but not Go's stack pointer, a global.
func away(run func()) {
	done := make(chan struct{})
	go func() {
		run()
		close(done)
	}()
	<-done
}

//go:wasmexport check
func checkAsked() uint32 {
	away(func() {
		var q question
		told = [2]uint32{}
		if json.Unmarshal(asked, &q) == nil {
			kept, _ = json.Marshal(files.answerTo(&q), json.Deterministic(true))
			told = [2]uint32{address(kept), uint32(len(kept))}
		}
	})
	return uint32(uintptr(unsafe.Pointer(&told)))
}

// Leaves nothing behind but what was read, for the memory to be frozen. The garbage stays:
// collecting it would move stacks.
//
//go:wasmexport settle
func settle() {
	asked, kept, told, files.now = nil, nil, [2]uint32{}, nil
}

// Free memory, all zeros, that every world begins with. A frozen memory may not have grown,
// and how much of it the declarations need is not the same from bake to bake.
const headroom = 16 << 20

//go:wasmexport bake
func bake() {
	away(func() {
		debug.SetGCPercent(-1)
		files = newHost()
		files.answerTo(&question{Code: sample})
		settle()
		for range 8 {
			runtime.GC()
		}
		runtime.KeepAlive(make([]byte, headroom))
		runtime.GC()
		// A question rarely needs as much; one that does has its garbage collected.
		debug.SetMemoryLimit(256 << 20)
	})
	settled(&[8 << 10]byte{})
}

// Makes the stack so large that nothing which the host calls has to.
//
//go:noinline
func settled(room *[8 << 10]byte) {
	var own [8 << 10]byte
	copy(own[:], room[:])
	runtime.KeepAlive(&own)
}

const sample = `
interface Point { x: number; y?: string }
async function main(all: Point[]): Promise<Map<string, number>> {
  const found = all.filter(p => p.y !== undefined).map(p => ({...p, n: p.x * 2}));
  return new Map(Object.entries({a: found.length, b: JSON.parse('1') as number}));
}
return await main([{x: 1, y: 'a'}, {x: new Date().getTime()}]);
`

func main() {}
