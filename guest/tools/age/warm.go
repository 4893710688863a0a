package main

import (
	"bytes"
	"io"
	"os"
	"path"

	"filippo.io/age"
	"filippo.io/age/internal/keygen"
)

// Two programs, told apart by the name that they are called by.
func program() {
	if path.Base(os.Args[0]) == "age-keygen" {
		keygen.Main()
		return
	}
	ageMain()
}

func warm() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	var sealed bytes.Buffer
	if w, err := age.Encrypt(&sealed, identity.Recipient()); err == nil {
		_, _ = io.WriteString(w, "warm")
		_ = w.Close()
	}
	if r, err := age.Decrypt(&sealed, identity); err == nil {
		_, _ = io.Copy(io.Discard, r)
	}
}
