// Package reach connects to servers of an ensemble that locklab did not start, with what these servers ask for: TLS and
// a credential, and passes the connections of others on. It knows nothing of sessions and znodes; package remote does.
package reach
