// Four small tools in one program, told apart by the name that they are called by: csvtool,
// jwt, toml2json and uuid. In Go, because what they stand on is: crypto for jwt (mbedtls has
// no Ed25519, libsodium no RSA and no ECDSA), a TOML parser that passes toml-test, and
// parsers that cannot write beyond their input.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

// A tool reads of `in` where it is told to, and answers its exit code.
type tool func(args []string, in io.Reader, out io.Writer) (int, error)

var tools = map[string]tool{"csvtool": csvtool, "jwt": jwtTool, "toml2json": toml2json, "uuid": uuidTool}

var errUsage = errors.New("wrong usage")

func program() {
	name := path.Base(os.Args[0])
	run, ok := tools[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no tool %s here, but csvtool, jwt, toml2json and uuid\n", name)
		os.Exit(127)
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	code, err := run(os.Args[1:], os.Stdin, out)
	if failed := out.Flush(); err == nil && failed != nil {
		code, err = 1, failed
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	os.Exit(code)
}

// A file, or standard input where it is "-" or there is none.
func read(name string, in io.Reader) ([]byte, error) {
	if name == "" || name == "-" {
		return io.ReadAll(in)
	}
	return os.ReadFile(name)
}

// What most calls do, once. No UUID of version 7: the next ones are behind those that were made.
func warm() {
	for _, call := range [][]string{
		{"csvtool", "readable", "-"}, {"toml2json"}, {"uuid"},
		{"jwt", "sign", "--secret", "x", "{\"a\": 1}"},
	} {
		in := bytes.NewReader([]byte("a = 1\n[b]\nc = 2020-01-01\n"))
		_, _ = tools[call[0]](call[1:], in, io.Discard)
	}
}
