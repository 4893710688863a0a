// What fzf asks of its system where there are neither processes nor terminals.
package util

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

type Executor struct{ escaper *strings.Replacer }

func NewExecutor(string) *Executor {
	return &Executor{strings.NewReplacer("'", "'\\''")}
}

func (x *Executor) ExecCommand(command string, setpgid bool) *exec.Cmd {
	return exec.Command("sh", "-c", command)
}

func (x *Executor) QuoteEntry(entry string) string {
	return "'" + x.escaper.Replace(entry) + "'"
}

func (x *Executor) Become(stdin *os.File, environ []string, command string) {
	_, _ = os.Stderr.WriteString("fzf (become): there are no processes here\n")
	os.Exit(127)
}

func KillCommand(cmd *exec.Cmd) error { return errors.New("there are no processes here") }

func IsWindows() bool { return false }

func SetNonblock(file *os.File, nonblock bool) {}

func Read(fd int, b []byte) (int, error) { return syscall.Read(fd, b) }

func SetStdin(file *os.File) {}
