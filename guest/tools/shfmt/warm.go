package main

import (
	"io"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const sample = `#!/bin/bash
if [[ $a =~ ^x+$ && -f "b c" ]]; then echo "${d:-$(e)}" >f 2>&1 <<EOF
text $g
EOF
fi
for ((i = 0; i < 10; i++)); do case $i in (1|2) h & ;; *) j | k || l;; esac; done
m() { local n=(1 2 3); while read -r o; do :; done < <(p); }
`

func warm() {
	parser := syntax.NewParser(syntax.KeepComments(true))
	for i := 0; i < 3; i++ {
		if file, err := parser.Parse(strings.NewReader(sample), ""); err == nil {
			_ = syntax.NewPrinter(syntax.Indent(2)).Print(io.Discard, file)
		}
	}
}
