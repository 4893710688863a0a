// How a Go program begins that was baked: its runtime and its packages were initialised
// when the image was made, so what belongs to one call is asked for here. Recipes lay this
// file beside a main.go that says `program` (the main function) and `warm` (what is done
// before the image is made).
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unsafe"
)

//go:wasmimport wasi_snapshot_preview1 args_sizes_get
//go:noescape
func argsSizes(count, bytes unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 args_get
//go:noescape
func argsGet(list, bytes unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 environ_sizes_get
//go:noescape
func environSizes(count, bytes unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 environ_get
//go:noescape
func environGet(list, bytes unsafe.Pointer) uint32

// The arguments, or the environment. The bytes lie as WASI wrote them: each with a zero.
func texts(sizes, get func(a, b unsafe.Pointer) uint32) []string {
	var count, size uint32
	if sizes(unsafe.Pointer(&count), unsafe.Pointer(&size)) != 0 || count == 0 {
		return nil
	}
	list, bytes := make([]uint32, count), make([]byte, size)
	if get(unsafe.Pointer(&list[0]), unsafe.Pointer(unsafe.SliceData(bytes))) != 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(bytes), "\x00"), "\x00")[:count]
}

// package syscall looks for open folders when it is initialised, and there were none then.
type opened struct {
	fd   int32
	name string
}

//go:linkname preopens syscall.preopens
var preopens []opened

//go:linkname cwd syscall.cwd
var cwd string

//go:wasmimport wasi_snapshot_preview1 fd_prestat_get
//go:noescape
func prestat(fd int32, to unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_prestat_dir_name
//go:noescape
func prestatName(fd int32, to unsafe.Pointer, n uint32) uint32

func findFolders() {
	preopens = nil
	for fd := int32(3); ; fd++ {
		var answer [2]uint32 // the kind, of which there is one, and the name's length
		if prestat(fd, unsafe.Pointer(&answer)) != 0 {
			break
		}
		name := make([]byte, answer[1])
		if prestatName(fd, unsafe.Pointer(unsafe.SliceData(name)), answer[1]) == 0 {
			preopens = append(preopens, opened{fd, string(name)})
		}
	}
	if cwd = os.Getenv("PWD"); cwd == "" && len(preopens) > 0 {
		cwd = preopens[0].name
	}
}

func begin() {
	os.Args = texts(argsSizes, argsGet)
	os.Clearenv()
	for _, pair := range texts(environSizes, environGet) {
		if name, value, ok := strings.Cut(pair, "="); ok {
			_ = os.Setenv(name, value)
		}
	}
	findFolders()
	os.Stdin = os.NewFile(uintptr(syscall.Stdin), "/dev/stdin")
	os.Stdout = os.NewFile(uintptr(syscall.Stdout), "/dev/stdout")
	os.Stderr = os.NewFile(uintptr(syscall.Stderr), "/dev/stderr")
}

//go:wasmexport _start
func start() {
	begin()
	program()
	os.Exit(0)
}

//go:wasmexport bake
func bake() {
	warm()
	runtime.GC()
	runtime.GC()
	// What a call leaves behind is collected once it is worth it: most end before.
	debug.SetGCPercent(400)
}

func main() {}
