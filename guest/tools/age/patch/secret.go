package term

import (
	"bytes"
	"io"
	"os"
)

var last []byte

// ReadSecret reads a passphrase where there is no terminal: AGE_PASSPHRASE, the first line of
// the file AGE_PASSPHRASE_FILE, or the next line of standard input, of which not one byte
// more is taken. Where that has ended, the passphrase is confirmed by the one before.
func ReadSecret(prompt string) ([]byte, error) {
	if pass, ok := os.LookupEnv("AGE_PASSPHRASE"); ok {
		return []byte(pass), nil
	}
	if name := os.Getenv("AGE_PASSPHRASE_FILE"); name != "" {
		text, err := os.ReadFile(name)
		line, _, _ := bytes.Cut(text, []byte("\n"))
		return bytes.TrimSuffix(line, []byte("\r")), err
	}
	line, err := readLine(os.Stdin)
	if err == io.EOF && len(line) == 0 && last != nil {
		return last, nil
	}
	if err == io.EOF && len(line) > 0 {
		err = nil
	}
	last = line
	return line, err
}

func readLine(in io.Reader) (line []byte, err error) {
	var one [1]byte
	for {
		if _, err = io.ReadFull(in, one[:]); err != nil || one[0] == '\n' {
			return bytes.TrimSuffix(line, []byte("\r")), err
		}
		line = append(line, one[0])
	}
}
