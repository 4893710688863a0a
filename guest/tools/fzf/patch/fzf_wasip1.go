package fzf

import (
	"errors"
	"io"
	"os"
)

var errNoProcesses = errors.New("there are no processes here: use --filter")

func sh(bash bool) (string, error) { return "", errNoProcesses }

func mkfifo(path string, mode uint32) (string, error) { return path, errNoProcesses }

func withOutputPipe(output string, task func(io.ReadCloser)) error { return errNoProcesses }

func withInputPipe(input string, task func(io.WriteCloser)) error { return errNoProcesses }

func notifyOnResize(resizeChan chan<- os.Signal) {}

func notifyStop(p *os.Process) {}
