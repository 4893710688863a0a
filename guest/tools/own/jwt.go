package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"crypto/subtle"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"
	"time"
)

const jwtUsage = "%w; jwt decode [TOKEN] | jwt verify --alg ALG --secret S|--key FILE [--issuer I] " +
	"[--audience A] [--leeway S] [--at T] [TOKEN] | jwt sign [--alg ALG] --secret S|--key FILE [--header JSON] " +
	"[--expires S] [PAYLOAD]"

// RFC 7518, section 3.1, and RFC 8037.
type algorithm struct {
	kind byte // H, R, P, E or D
	hash crypto.Hash
	bits int // of an elliptic curve
}

var algorithms = map[string]algorithm{
	"HS256": {'H', crypto.SHA256, 0}, "HS384": {'H', crypto.SHA384, 0}, "HS512": {'H', crypto.SHA512, 0},
	"RS256": {'R', crypto.SHA256, 0}, "RS384": {'R', crypto.SHA384, 0}, "RS512": {'R', crypto.SHA512, 0},
	"PS256": {'P', crypto.SHA256, 0}, "PS384": {'P', crypto.SHA384, 0}, "PS512": {'P', crypto.SHA512, 0},
	"ES256": {'E', crypto.SHA256, 256}, "ES384": {'E', crypto.SHA384, 384}, "ES512": {'E', crypto.SHA512, 521},
	"EdDSA": {'D', 0, 0},
}

var (
	b64        = base64.RawURLEncoding.Strict()
	pssOptions = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}
)

// The parts of a token, decoded.
type token struct {
	signed             string // what the signature is over
	header, payload    map[string]any
	rawHeader, rawBody []byte
	signature          []byte
}

func object(text []byte, what string) (map[string]any, error) {
	var v map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil || v == nil {
		return nil, fmt.Errorf("the %s is no JSON object", what)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value stands in the %s", what)
	}
	return v, nil
}

func parseToken(text string) (*token, error) {
	parts := strings.Split(strings.TrimSpace(text), ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("a token has three parts between dots, this has %d", len(parts))
	}
	t := &token{signed: parts[0] + "." + parts[1]}
	for i, to := range []*[]byte{&t.rawHeader, &t.rawBody, &t.signature} {
		var err error
		if *to, err = b64.DecodeString(parts[i]); err != nil {
			return nil, fmt.Errorf("part %d of the token is not base64url", i+1)
		}
	}
	var err error
	if t.header, err = object(t.rawHeader, "header"); err != nil {
		return nil, err
	}
	t.payload, err = object(t.rawBody, "payload")
	return t, err
}

// ---- keys ------------------------------------------------------------------

// A key of a PEM file: a private one, or what verifies: a public one or a certificate.
func parseKey(text []byte) (any, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PUBLIC KEY":
			return x509.ParsePKIXPublicKey(block.Bytes)
		case "RSA PUBLIC KEY":
			return x509.ParsePKCS1PublicKey(block.Bytes)
		case "PRIVATE KEY":
			return x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			return x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			return x509.ParseECPrivateKey(block.Bytes)
		case "CERTIFICATE":
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, err
			}
			return c.PublicKey, nil
		}
	}
	return nil, errors.New("the key file holds no PEM key: PUBLIC KEY, PRIVATE KEY, RSA or EC PRIVATE KEY, CERTIFICATE")
}

// What HS* is keyed with must not be what others verify with: that is how a public key is
// passed off as a secret.
func keyFor(a algorithm, secret, file string) (any, error) {
	if file == "" && secret == "" {
		return nil, errors.New("a key is needed: --secret for HS*, or --key FILE")
	}
	var text []byte
	if file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	if a.kind != 'H' {
		if file == "" {
			return nil, errors.New("this algorithm takes a key from a PEM file: --key FILE")
		}
		return parseKey(text)
	}
	if file == "" {
		return []byte(secret), nil
	}
	if bytes.Contains(text, []byte("-----BEGIN ")) {
		return nil, errors.New("a PEM key is no secret for HS*")
	}
	return text, nil
}

func publicOf(key any) any {
	if signer, ok := key.(crypto.Signer); ok {
		return signer.Public()
	}
	return key
}

// ---- signatures --------------------------------------------------------------

func digest(a algorithm, text string) []byte {
	h := a.hash.New()
	io.WriteString(h, text)
	return h.Sum(nil)
}

func mac(a algorithm, key []byte, text string) []byte {
	h := hmac.New(a.hash.New, key)
	io.WriteString(h, text)
	return h.Sum(nil)
}

func wrongKey(a algorithm) error {
	return fmt.Errorf("the key does not fit the algorithm, which takes %s", map[byte]string{
		'R': "an RSA key", 'P': "an RSA key", 'D': "an Ed25519 key",
		'E': fmt.Sprintf("an EC key of the curve P-%d", a.bits)}[a.kind])
}

func sign(a algorithm, key any, text string) ([]byte, error) {
	switch k := key.(type) {
	case []byte:
		return mac(a, k, text), nil
	case *rsa.PrivateKey:
		if a.kind == 'R' {
			return rsa.SignPKCS1v15(rand.Reader, k, a.hash, digest(a, text))
		}
		if a.kind == 'P' {
			return rsa.SignPSS(rand.Reader, k, a.hash, digest(a, text), pssOptions)
		}
	case *ecdsa.PrivateKey:
		if a.kind == 'E' && k.Curve.Params().BitSize == a.bits {
			r, s, err := ecdsa.Sign(rand.Reader, k, digest(a, text))
			if err != nil {
				return nil, err
			}
			size := (a.bits + 7) / 8
			both := make([]byte, 2*size)
			r.FillBytes(both[:size])
			s.FillBytes(both[size:])
			return both, nil
		}
	case ed25519.PrivateKey:
		if a.kind == 'D' {
			return ed25519.Sign(k, []byte(text)), nil
		}
	case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
		return nil, errors.New("the key is public: a token is signed with the private one")
	}
	return nil, wrongKey(a)
}

func verify(a algorithm, key any, text string, signature []byte) (bool, error) {
	switch k := publicOf(key).(type) {
	case []byte:
		return subtle.ConstantTimeCompare(mac(a, k, text), signature) == 1, nil
	case *rsa.PublicKey:
		if a.kind == 'R' {
			return rsa.VerifyPKCS1v15(k, a.hash, digest(a, text), signature) == nil, nil
		}
		if a.kind == 'P' {
			return rsa.VerifyPSS(k, a.hash, digest(a, text), signature, pssOptions) == nil, nil
		}
	case *ecdsa.PublicKey:
		if size := (a.bits + 7) / 8; a.kind == 'E' && k.Curve.Params().BitSize == a.bits {
			if len(signature) != 2*size {
				return false, nil
			}
			r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
			return ecdsa.Verify(k, digest(a, text), r, s), nil
		}
	case ed25519.PublicKey:
		if a.kind == 'D' {
			return ed25519.Verify(k, []byte(text), signature), nil
		}
	}
	return false, wrongKey(a)
}

// ---- claims ------------------------------------------------------------------

type expected struct {
	issuer, audience string
	now, leeway      float64
}

func seconds(payload map[string]any, name string) (float64, bool, error) {
	v, there := payload[name]
	if !there {
		return 0, false, nil
	}
	n, ok := v.(json.Number)
	f, err := n.Float64()
	if !ok || err != nil {
		return 0, false, fmt.Errorf("the claim %s is no number", name)
	}
	return f, true, nil
}

func hasAudience(claim any, wanted string) bool {
	if all, ok := claim.([]any); ok {
		for _, one := range all {
			if one == any(wanted) {
				return true
			}
		}
		return false
	}
	return claim == any(wanted)
}

// RFC 7519, section 4.1.
func checkClaims(payload map[string]any, x expected) error {
	when := func(t float64) string { return time.Unix(int64(t), 0).UTC().Format(time.RFC3339) }
	if t, there, err := seconds(payload, "exp"); err != nil {
		return err
	} else if there && x.now >= t+x.leeway {
		return fmt.Errorf("the token expired at %s", when(t))
	}
	if t, there, err := seconds(payload, "nbf"); err != nil {
		return err
	} else if there && x.now < t-x.leeway {
		return fmt.Errorf("the token is not valid before %s", when(t))
	}
	if x.issuer != "" && payload["iss"] != any(x.issuer) {
		return fmt.Errorf("the token is not from the issuer '%s'", x.issuer)
	}
	if x.audience != "" && !hasAudience(payload["aud"], x.audience) {
		return fmt.Errorf("the token is not for the audience '%s'", x.audience)
	}
	return nil
}

// ---- commands ----------------------------------------------------------------

func printToken(t *token, out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(struct {
		Header  json.RawMessage `json:"header"`
		Payload json.RawMessage `json:"payload"`
	}{t.rawHeader, t.rawBody})
}

type jwtCall struct {
	alg, secret, key, header string
	expires                  int64
	expected
}

func (c *jwtCall) verify(text string, out io.Writer) (int, error) {
	t, err := parseToken(text)
	if err != nil {
		return 1, err
	}
	name, _ := t.header["alg"].(string)
	a, known := algorithms[name]
	if !known {
		return 1, fmt.Errorf("the token's algorithm '%s' is none that is verified here", name)
	}
	if c.alg != "" && c.alg != name {
		return 1, fmt.Errorf("the token is signed with %s, and only %s is accepted", name, c.alg)
	}
	if _, critical := t.header["crit"]; critical {
		return 1, errors.New("the token's header says crit: extensions that are not known here must be understood")
	}
	key, err := keyFor(a, c.secret, c.key)
	if err != nil {
		return 1, err
	}
	ok, err := verify(a, key, t.signed, t.signature)
	if err == nil && !ok {
		err = errors.New("the signature is wrong")
	}
	if err == nil {
		err = checkClaims(t.payload, c.expected)
	}
	if err != nil {
		return 1, err
	}
	return 0, printToken(t, out)
}

func (c *jwtCall) sign(text string, out io.Writer) (int, error) {
	if c.alg == "" {
		c.alg = "HS256"
	}
	a, known := algorithms[c.alg]
	if !known {
		return 2, fmt.Errorf("there is no algorithm '%s'; there are HS, RS, PS, ES with 256, 384 and 512, and EdDSA", c.alg)
	}
	payload := []byte(strings.TrimSpace(text))
	claims, err := object(payload, "payload")
	if err != nil {
		return 1, err
	}
	if c.expires != 0 {
		now := time.Now().Unix()
		claims["iat"], claims["exp"] = now, now+c.expires
		if payload, err = json.Marshal(claims); err != nil {
			return 1, err
		}
	}
	header := map[string]any{}
	if c.header != "" {
		if header, err = object([]byte(c.header), "header"); err != nil {
			return 1, err
		}
	}
	if _, said := header["typ"]; !said {
		header["typ"] = "JWT"
	}
	header["alg"] = c.alg
	head, err := json.Marshal(header)
	if err != nil {
		return 1, err
	}
	key, err := keyFor(a, c.secret, c.key)
	if err != nil {
		return 1, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, payload); err != nil {
		return 1, err
	}
	signed := b64.EncodeToString(head) + "." + b64.EncodeToString(compact.Bytes())
	signature, err := sign(a, key, signed)
	if err != nil {
		return 1, err
	}
	fmt.Fprintln(out, signed+"."+b64.EncodeToString(signature))
	return 0, nil
}

func jwt(args []string, in io.Reader, out io.Writer) (int, error) {
	// The command stands before the options, or behind them.
	command := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, args = args[0], args[1:]
	}
	c := jwtCall{}
	flags := flag.NewFlagSet("jwt", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.alg, "alg", "", "")
	flags.StringVar(&c.secret, "secret", "", "")
	flags.StringVar(&c.key, "key", "", "")
	flags.StringVar(&c.header, "header", "", "")
	flags.Int64Var(&c.expires, "expires", 0, "")
	flags.StringVar(&c.issuer, "issuer", "", "")
	flags.StringVar(&c.audience, "audience", "", "")
	flags.Float64Var(&c.leeway, "leeway", 0, "")
	flags.Float64Var(&c.now, "at", float64(time.Now().Unix()), "")
	if err := flags.Parse(args); err != nil {
		return 2, fmt.Errorf(jwtUsage, errUsage)
	}
	rest := flags.Args()
	if command == "" && len(rest) > 0 {
		command, rest = rest[0], rest[1:]
	}
	if len(rest) > 1 {
		return 2, fmt.Errorf(jwtUsage, errUsage)
	}
	text := ""
	if len(rest) == 1 && rest[0] != "-" {
		text = rest[0]
	} else if command == "decode" || command == "verify" || command == "sign" {
		all, err := io.ReadAll(in)
		if err != nil {
			return 1, err
		}
		text = string(all)
	}
	switch command {
	case "decode":
		t, err := parseToken(text)
		if err != nil {
			return 1, err
		}
		return 0, printToken(t, out)
	case "verify":
		return c.verify(text, out)
	case "sign":
		return c.sign(text, out)
	}
	return 2, fmt.Errorf(jwtUsage, errUsage)
}
