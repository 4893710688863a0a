package main

import (
	"io"
	"os"
	"strings"

	command "github.com/mikefarah/yq/v4/cmd"
)

const sample = `# comment
a: &x {b: [1, 2.5, "three", null, true], c: 2020-01-01}
d: *x
e: |
  text
f: {<<: *x, g: !!str 1}
---
h: [{name: one, n: 1}, {name: two, n: 2}]
`

// What most calls do, once: the expression's grammar is made when it is first needed.
func warm() {
	kept := os.Stdout
	os.Stdout, _ = os.OpenFile("/dev/null", os.O_WRONLY, 0)
	for _, args := range [][]string{
		{"eval", ".a.b[] | select(. == 1)"},
		{"eval", "-o=json", ".h | map(.name) | join(\",\")"},
	} {
		c := command.New()
		c.SetIn(strings.NewReader(sample))
		c.SetOut(io.Discard)
		c.SetErr(io.Discard)
		c.SetArgs(args)
		_ = c.Execute()
	}
	os.Stdout = kept
}
