package recipes_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log"
	"os"

	"locklab/recipes"
)

// Only clients with the password can take, see or break the lock, and the servers and the client talk over TLS.
func Example_secured() {
	ctx := context.Background()
	pem, err := os.ReadFile("ca.pem")
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		log.Fatal("ca.pem has no certificate")
	}
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots}}
	session, err := recipes.Connect(ctx, recipes.SessionConfig{Config: recipes.Config{
		Servers:     []string{"zk1:2281", "zk2:2281", "zk3:2281"}, // the servers' secureClientPort
		Dial:        dialer.DialContext,
		Credentials: []recipes.Credential{recipes.Digest("payments", os.Getenv("ZK_PASSWORD"))},
		ACL:         recipes.CreatorAll,
	}})
	if errors.Is(err, recipes.ErrAuthFailed) {
		log.Fatal(err) // trying again would not help
	}
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close(ctx) // frees the locks; Close gives the service a second even if ctx has ended
	lock, err := recipes.NewMutex(recipes.MutexConfig{Session: session, Path: "/payments/locks/ledger"})
	if err != nil {
		log.Fatal(err)
	}
	hold, err := lock.Acquire(ctx)
	if errors.Is(err, recipes.ErrNoAuth) {
		log.Fatal(err) // the password is wrong, or the znodes are somebody else's: the error names the znode
	}
	if err != nil {
		log.Fatal(err)
	}
	defer hold.Release(ctx) // Release gives the service a second even if ctx has ended
	log.Print("alone, with token ", hold.Token())
}
