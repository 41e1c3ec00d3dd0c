package zktest

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// may reports whether an ACL gives a client one of the permissions. A nil link may do everything.
func (l *link) may(acl []zk.ACL, permissions int32) bool {
	if l == nil {
		return true
	}
	return slices.ContainsFunc(acl, func(a zk.ACL) bool {
		return a.Perms&permissions != 0 && (a.Scheme == "world" || slices.ContainsFunc(l.auth, func(id zk.ACL) bool {
			return id.Scheme == a.Scheme && id.ID == a.ID
		}))
	})
}

// shown returns an ACL as a client sees it. Digests are hidden from a client that may not change the ACL.
func (l *link) shown(acl []zk.ACL) []zk.ACL {
	if l.may(acl, zk.PermAdmin) {
		return acl
	}
	acl = slices.Clone(acl)
	for i := range acl {
		if user, _, ok := strings.Cut(acl[i].ID, ":"); ok && acl[i].Scheme == "digest" {
			acl[i].ID = user + ":x"
		}
	}
	return acl
}

// identify takes note of who a client says it is. The service knows digests only, and believes every password.
func (l *link) identify(scheme string, auth []byte) (code int32) {
	if scheme != "digest" {
		return zkproto.CodeAuthFailed
	}
	user, _, _ := strings.Cut(string(auth), ":")
	sum := sha1.Sum(auth)
	id := zk.ACL{Scheme: scheme, ID: user + ":" + base64.StdEncoding.EncodeToString(sum[:])}
	if !slices.Contains(l.auth, id) {
		l.auth = append(l.auth, id)
	}
	return zkproto.CodeOK
}

// resolve returns the permissions as a znode keeps them. The scheme "auth" stands for the client's own identities.
func (l *link) resolve(acl []zk.ACL) (all []zk.ACL, code int32) {
	if l == nil {
		return acl, zkproto.CodeOK
	}
	for _, a := range acl {
		switch {
		case a.Scheme == "world" && a.ID == "anyone", a.Scheme == "digest" && strings.Count(a.ID, ":") == 1,
			a.Scheme == "ip" && a.ID != "":
			all = append(all, a)
		case a.Scheme == "auth" && len(l.auth) > 0:
			for _, id := range l.auth {
				all = append(all, zk.ACL{Perms: a.Perms, Scheme: id.Scheme, ID: id.ID})
			}
		default:
			return nil, zkproto.CodeInvalidACL
		}
	}
	if len(all) == 0 {
		return nil, zkproto.CodeInvalidACL
	}
	return all, zkproto.CodeOK
}
