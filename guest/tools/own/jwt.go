package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const jwtUsage = "%w; jwt decode [TOKEN] | jwt verify --alg ALG --secret S|--key FILE [--issuer I] " +
	"[--audience A] [--leeway S] [--at T] [TOKEN] | jwt sign [--alg ALG] --secret S|--key FILE [--header JSON] " +
	"[--expires S] [PAYLOAD]"

// Of the package, without "none" (RFC 7518, section 3.1, and RFC 8037). It takes a salt of any
// length for PS*, where the standard has one.
var algorithms = func() (names []string) {
	for _, m := range []*jwt.SigningMethodRSAPSS{jwt.SigningMethodPS256, jwt.SigningMethodPS384, jwt.SigningMethodPS512} {
		m.VerifyOptions = m.Options
	}
	for _, name := range jwt.GetAlgorithms() {
		if name != jwt.SigningMethodNone.Alg() {
			names = append(names, name)
		}
	}
	return names
}()

var b64 = base64.RawURLEncoding.Strict()

// The parts of a token, decoded.
type token struct {
	header, payload    map[string]any
	rawHeader, rawBody []byte
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

// Whatever it is signed with.
func parseToken(text string) (*token, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, fmt.Errorf("a token has three parts between dots, this has %d", len(parts))
	}
	t := &token{}
	for i, to := range []*[]byte{&t.rawHeader, &t.rawBody, new([]byte)} {
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
func keyFor(method jwt.SigningMethod, secret, file string) (any, error) {
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
	if _, mac := method.(*jwt.SigningMethodHMAC); !mac {
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

// What the package does not look at by itself: a key of another curve than the algorithm's.
func fits(method jwt.SigningMethod, public any) error {
	m, curve := method.(*jwt.SigningMethodECDSA)
	if k, ok := public.(*ecdsa.PublicKey); curve && ok && k.Curve.Params().BitSize != m.CurveBits {
		return jwt.ErrInvalidKey
	}
	return nil
}

func wrongKey(method jwt.SigningMethod) error {
	takes := "an RSA key"
	switch m := method.(type) {
	case *jwt.SigningMethodECDSA:
		takes = fmt.Sprintf("an EC key of the curve P-%d", m.CurveBits)
	case *jwt.SigningMethodEd25519:
		takes = "an Ed25519 key"
	}
	return fmt.Errorf("the key does not fit the algorithm, which takes %s", takes)
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
	alg, secret, key, header, issuer, audience string
	expires                                    int64
	now, leeway                                float64
}

func (c *jwtCall) parser() *jwt.Parser {
	whole, part := math.Modf(c.now)
	options := []jwt.ParserOption{
		jwt.WithValidMethods(algorithms), jwt.WithStrictDecoding(), jwt.WithJSONNumber(),
		jwt.WithLeeway(time.Duration(c.leeway * float64(time.Second))),
		jwt.WithTimeFunc(func() time.Time { return time.Unix(int64(whole), int64(part*1e9)) }),
	}
	if c.issuer != "" {
		options = append(options, jwt.WithIssuer(c.issuer))
	}
	if c.audience != "" {
		options = append(options, jwt.WithAudience(c.audience))
	}
	return jwt.NewParser(options...)
}

// What the package says of a token, in more words where it has few.
func explained(err error, t *jwt.Token, method jwt.SigningMethod) error {
	when := func(at *jwt.NumericDate, _ error) string { return at.UTC().Format(time.RFC3339) }
	switch {
	case errors.Is(err, jwt.ErrInvalidKeyType) || errors.Is(err, jwt.ErrInvalidKey):
		return wrongKey(method)
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return errors.New("the signature is wrong")
	case errors.Is(err, jwt.ErrTokenExpired):
		return fmt.Errorf("the token expired at %s", when(t.Claims.GetExpirationTime()))
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return fmt.Errorf("the token is not valid before %s", when(t.Claims.GetNotBefore()))
	}
	return err
}

func (c *jwtCall) verify(text string, out io.Writer) (int, error) {
	text = strings.TrimSpace(text)
	t, err := parseToken(text)
	if err != nil {
		return 1, err
	}
	name, _ := t.header["alg"].(string)
	if !slices.Contains(algorithms, name) {
		return 1, fmt.Errorf("the token's algorithm '%s' is none that is verified here", name)
	}
	if c.alg != "" && c.alg != name {
		return 1, fmt.Errorf("the token is signed with %s, and only %s is accepted", name, c.alg)
	}
	if _, critical := t.header["crit"]; critical {
		return 1, errors.New("the token's header says crit: extensions that are not known here must be understood")
	}
	method := jwt.GetSigningMethod(name)
	key, err := keyFor(method, c.secret, c.key)
	if err != nil {
		return 1, err
	}
	public := publicOf(key)
	parsed, err := c.parser().Parse(text, func(*jwt.Token) (any, error) { return public, fits(method, public) })
	if err != nil {
		return 1, explained(err, parsed, method)
	}
	return 0, printToken(t, out)
}

func (c *jwtCall) sign(text string, out io.Writer) (int, error) {
	if c.alg == "" {
		c.alg = "HS256"
	}
	if !slices.Contains(algorithms, c.alg) {
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
	method := jwt.GetSigningMethod(c.alg)
	key, err := keyFor(method, c.secret, c.key)
	if err != nil {
		return 1, err
	}
	switch key.(type) {
	case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
		return 1, errors.New("the key is public: a token is signed with the private one")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, payload); err != nil {
		return 1, err
	}
	signed := b64.EncodeToString(head) + "." + b64.EncodeToString(compact.Bytes())
	signature, err := method.Sign(signed, key)
	if err != nil {
		return 1, explained(err, nil, method)
	}
	fmt.Fprintln(out, signed+"."+b64.EncodeToString(signature))
	return 0, nil
}

func jwtTool(args []string, in io.Reader, out io.Writer) (int, error) {
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
		t, err := parseToken(strings.TrimSpace(text))
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
