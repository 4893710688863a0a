package main

import (
	fzf "github.com/junegunn/fzf/src"
)

func warm() {
	_, _ = fzf.ParseOptions(true, []string{"--filter=a", "--delimiter=:", "--nth=1"})
}
